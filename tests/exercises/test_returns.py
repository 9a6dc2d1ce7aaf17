"""What returns: the days, the record that travels, and questions with other numbers."""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import Any

import pytest

from mini_attn.errors import ConfigError
from mini_attn.exercises.progress_format import as_text, parse
from mini_attn.exercises.progress_record import Record, entries, merged, only_known
from mini_attn.widgets.questions import AGAIN, QUESTIONS
from tests.javascript import run

DAYS = ("returns/days.js",)
FORMAT = ("progress/format.js",)
FIRST = {"day": "2026-11-28", "rung": 0}
RIGHT = {"attempt": "5050", "verdict": "right", "shown": False}


def record(entry: Any) -> Record:
    kinds: Any = {"predictions": {"passes": RIGHT}, "exercises": {}, "returns": {"passes": entry}}
    return {"kv-cache": kinds}


def test_an_answer_comes_back_after_one_three_and_ten_days() -> None:
    """Right each time: it's asked on the first day on which it's due, and then it's done."""
    asked = run(
        """let entry = living.begun("2026-11-28"), asked = [];
        for (const day of input) if (living.due([["a/b", entry]], day).length) {
          asked.push(day);
          entry = living.after(entry, true, day);
        }
        return [asked, entry.rung, living.dueOn(entry)];""",
        [str(date(2026, 11, 28) + timedelta(n)) for n in range(60)],
        sources=DAYS,
    )
    assert asked == [["2026-11-29", "2026-12-02", "2026-12-12"], 3, None]


def test_a_wrong_answer_begins_again() -> None:
    after = "return living.dueOn(living.after(input[0], false, input[1]));"
    for rung in range(3):
        entry = {"day": "2026-11-28", "rung": rung}
        assert run(after, [entry, "2026-12-31"], sources=DAYS) == "2027-01-01"


def test_what_has_waited_longest_comes_first() -> None:
    given = [["a/late", {"day": "2026-11-27", "rung": 0}], ["b/tomorrow", FIRST],
             ["a/done", {"day": "2026-01-01", "rung": 3}],
             ["z/early", {"day": "2026-11-20", "rung": 1}]]  # fmt: skip
    found = run('return living.due(input, "2026-11-28");', given, sources=DAYS)
    assert found == ["z/early", "a/late"]


def test_a_day_is_the_readers_own() -> None:
    """In the evening of a place behind Greenwich it is already tomorrow there."""
    said = run("return living.today(new Date(2026, 10, 28, 23, 30));", sources=DAYS)
    assert said == "2026-11-28"


BAD = [
    {"day": "2026-02-30", "rung": 0}, {"day": "28.11.2026", "rung": 0},
    {"day": 20261128, "rung": 0},
    {"day": "1999-01-01", "rung": 0}, {"day": "2026-11-28", "rung": 4},
    {"day": "2026-11-28", "rung": -1}, {"day": "2026-11-28", "rung": True},
    {"day": "2026-11-28", "rung": 0.5}, {"day": "2026-11-28"}, {"rung": 0}, {**FIRST, "more": 1}, 7,
]  # fmt: skip


@pytest.mark.parametrize("entry", [FIRST, {"day": "2028-02-29", "rung": 3}, *BAD], ids=str)
def test_page_and_python_read_the_same_dates(entry: Any) -> None:
    text = json.dumps({
        "format": "living-attention-progress", "version": 3, "chapters": record(entry),
    })  # fmt: skip
    page = run("return living.parseProgress(input);", text, sources=FORMAT)
    if entry in BAD:
        assert "returns" in page["error"] or "passes" in page["error"]
        with pytest.raises(ConfigError, match="passes"):
            parse(text.encode())
        return
    assert page["record"]["kv-cache"]["returns"] == {"passes": entry}
    assert json.loads(as_text(parse(text.encode()))) == json.loads(text) | {
        "chapters": {"kv-cache": {k: v for k, v in record(entry)["kv-cache"].items() if v}}
    }
    assert run("return living.progressText(input);", record(entry), sources=FORMAT) == as_text(
        record(entry)
    )


def test_a_record_without_dates_stays_what_it_was() -> None:
    """A book that knows no dates reads it; with dates it says that the version is another."""
    without: Record = {"kv-cache": {"predictions": {"passes": RIGHT}, "exercises": {}}}
    assert json.loads(as_text(without))["version"] == 1
    assert json.loads(as_text(record(FIRST)))["version"] == 3
    for version in (1, 2):
        text = json.dumps(json.loads(as_text(record(FIRST))) | {"version": version})
        with pytest.raises(ConfigError, match="unknown key 'returns'"):
            parse(text.encode())
        assert "unknown key" in run(
            "return living.parseProgress(input).error;", text, sources=FORMAT
        )


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        (FIRST, {"day": "2026-12-01", "rung": 0}, {"day": "2026-12-01", "rung": 0}),
        ({"day": "2026-12-01", "rung": 0}, {"day": "2026-11-30", "rung": 2},
         {"day": "2026-12-01", "rung": 0}),
        (FIRST, {**FIRST, "rung": 1}, {**FIRST, "rung": 1}),
    ],
)  # fmt: skip
def test_of_two_dates_the_later_counts_on_either_side(one: Any, other: Any, wanted: Any) -> None:
    for older, newer in ((one, other), (other, one)):
        both = merged(record(older), record(newer))
        assert both["kv-cache"]["returns"]["passes"] == wanted
        page = run(
            "return living.mergeProgress(...input);", [record(older), record(newer)], sources=FORMAT
        )
        assert page["kv-cache"]["returns"]["passes"] == wanted
        agreed = run(
            "return living.agree(...input);",
            [record(older), record(newer), {}, {"here": True, "there": False}],
            sources=("notebook/agree.js",),
        )
        assert agreed["kv-cache"]["returns"]["passes"] == wanted


def test_dates_are_kept_where_predictions_are() -> None:
    known, left_out = only_known(record(FIRST))
    assert (known["kv-cache"]["returns"], left_out) == ({"passes": FIRST}, 0)
    assert len(list(entries(known))) == 2


def test_drawn_questions_are_others_of_the_same_kind() -> None:
    assert len(AGAIN) >= 20
    for key, drawn in AGAIN.items():
        book = QUESTIONS[key]
        assert len({question.answer for question in (book, *drawn)}) == 4, key
        assert len({question.text for question in (book, *drawn)}) == 4, key
        for question in drawn:
            assert (question.unit, question.kind) == (book.unit, book.kind)
            assert len(question.mistakes) == len(book.mistakes), key
            assert question.is_right(question.answer)
