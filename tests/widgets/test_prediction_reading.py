"""What people write for a number is read, and what no sentence explains gets a fitting one."""

from __future__ import annotations

import pytest

from mini_attn.questions import KINDS, NumberQuestion
from mini_attn.widgets.questions import QUESTIONS
from tests.javascript import run
from tests.widgets.test_prediction import judge

PARSE = "return input.texts.map((text) => living.parseAnswer(text, input.unit, input));"

READ = [
    ("tokens", 5050, "5050 5,050 5.050 5_050 5'050 5’050 5.05e3 5.05E3 5.05·10^3 5.05×10³ "
     "5050. =5050 ~5050 ≈5,050 100*101/2 100·101/2 (100^2+100)/2 5.05k 5050tokens +5050 5050,0"),
    ("times", 2, "16/8 16÷8 16:8 2x 2× 200% e^0+1 √4 sqrt(4) 2**1 2! two log2(4) 10^3/500 -2+4"),
    ("times", 0.125, "1/8 ⅛ .125 ,125 0,125 12.5% 2^-3 2⁻³ 125/1000"),
    ("percent", 20, "20 20% 20,0 1/5·100"),
    ("of the whole", 0.2, "20% 1/5 0.2 0,2 ⅕ .2"),
    ("bytes", 2_000_000, "2e6 2×10^6 2·10⁶ 2MB 2mb 2000kB 2.000.000 "
     "2'000'000 16000000bits 0.002GB"),
    ("bytes", 2**20, "1MiB 1024KiB 2^20 1048576 1,048,576B"),
    ("FLOPs", 3e9, "3GFLOP 3GFLOPs 3e9FLOPs 3e3MFLOP"),
    ("milliseconds", 133, "133 133ms 0.133s 133000µs"),
    ("FLOPs per byte", 153, "153 153FLOPs/byte 153FLOP/B"),
]  # fmt: skip
SPACED = [
    ("tokens", 5050, ["5 050", "5\u202f050", "about 5050", "ca. 5,050 tokens", "5050 token",
                      "5.05 thousand", "100 * 101 / 2", "5050 in all",
                      "approximately 5050 tokens"]),
    ("numbers", 38.6e6, ["38.6 million", "38,6 Mio", "38.6 M numbers", "38 600 000",
                         "38.6 x 10^6"]),
    ("new tokens", 171, ["171 new tokens", "171 tokens", "171 token"]),
    ("tokens a second", 223, ["223 tokens/s", "223 tokens per second", "223 tok/s"]),
    ("times", 2, ["2 times", "2 times as many", "2 ×", "2-fold", "1 + 1", "ln (e^2)"]),
    ("percent", 52.4, ["52.4 %", "52,4 per cent", "about 52.4 percent"]),
    ("degrees", 4.64, ["4.64°", "4.64 degrees"]),
    ("(a part of 1)", 0.5, ["half", "a half", "50 %", "0.5"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("unit", "value", "texts"), [(u, v, t.split()) for u, v, t in READ] + SPACED
)
def test_a_number_is_read_as_people_write_it(unit: str, value: float, texts: list[str]) -> None:
    for text, read in zip(texts, run(PARSE, {"texts": texts, "unit": unit}), strict=True):
        meant = [one["value"] for one in (read, read.get("other")) if one and "value" in one]
        assert any(number == pytest.approx(value, rel=1e-9) for number in meant), (text, read)


def test_what_may_be_two_numbers_is_read_as_the_one_that_fits() -> None:
    point, comma, no = run(PARSE, {"texts": ["1.234", "1,234", "1,250"], "unit": "times"})
    assert (point["value"], point["other"]["value"]) == (1.234, 1234)
    assert (comma["value"], comma["other"]["value"]) == (1234, 1.234)
    assert no["value"] == 1250  # nobody writes a nought behind a decimal comma
    assert "other" not in no
    assert judge("attention-cost/half", "4.608")[0]["verdict"] == "right"
    assert judge("model/guess", "4,771")[0]["verdict"] == "right"
    assert judge("decoding-roofline/single", "223,000")[0]["verdict"] == "mistake"
    assert judge("decoding-roofline/single", "223,548")[0]["verdict"] == "mistake"


def test_zero_and_negative_numbers_are_read_where_the_answer_may_be_one() -> None:
    texts = ["0", "-2", "−2", "-1/2"]
    signed = run(PARSE, {"texts": texts, "unit": "units", "signed": True})
    assert [read["value"] for read in signed] == [0, -2, -2, -0.5]
    for read in run(PARSE, {"texts": texts, "unit": "units"}):
        assert read["error"] == "The answer is above zero."
    size, zero = judge("rope/difference", "-2", "0")
    assert size["message"] == "The size is right, the sign is not."
    assert zero["message"].startswith("It is above zero.")


def test_right_within_the_stated_rounding_is_right() -> None:
    right = {
        "mqa-gqa/step-bytes": ["32.3", "32.2 GB", "32.3 GB", "32,2 GB", "3.22e10"],
        "start/embedding-share": ["31%", "31.02", "38.6/124.4"],
        "mla/crossover": ["171", "171 tokens"],
        "mla/scale": ["√192", "13.9", "14"],
        "start/ratio": ["e^2", "e²", "7.4", "exp(2)"],
        "start/crowd": ["12.9%", "13"],
        "attention/leak": ["52.4", "52.4%", "22.1/42.2"],
        "decoding-roofline/half": ["77%", "76.7", "24.7/32.2"],
        "attention-cost/training": ["2.3 GB", "2.304e9", "2.15 GiB"],
        "mqa-gqa/intensity": ["128/8", "16 FLOPs/byte"],
    }
    for key, texts in right.items():
        for text, said in zip(texts, judge(key, *texts), strict=True):
            assert said["verdict"] == "right", (key, text, said)
    wrong = {
        "mla/crossover": ["170", "170.7", "170 tokens", "1.7e2"],  # the first whole number is asked
        "kv-cache/passes": ["5,051", "5.1e3", "5 thousand"],  # exact
        "position/shaw-work": ["16"],  # a foreseen mistake is nearer than a rounding
        "kv-cache/novel": ["52.4 GB", "12.2 GB"],
        "mqa-gqa/step-bytes": ["33", "32.2 MB", "30 GB"],
    }
    for key, texts in wrong.items():
        for text, said in zip(texts, judge(key, *texts), strict=True):
            assert said["verdict"] != "right", (key, text, said)


def test_a_size_without_its_unit_is_asked_about_and_never_far_too_small() -> None:
    asked, whole, slip = judge("mqa-gqa/step-bytes", "12", "32", "17.2")
    assert (asked["verdict"], whole["verdict"], slip["verdict"]) == ("unread", "unread", "mistake")
    assert "12 MB" in asked["message"]
    assert "32 GB" in whole["message"]
    assert slip["message"].startswith("Taken as GB. That's the cache alone.")
    assert judge("attention-cost/training", "2.5")[0]["verdict"] == "unread"
    # What one may have computed is not taken for what was asked: the width, without the rest.
    assert judge("attention-cost/training", "768")[0]["verdict"] == "unread"


GENERIC = """
return input.map((question) => ["10", "9"].map((text) => living.judge(question, text).message));
"""


def test_each_kind_of_question_has_words_of_its_own() -> None:
    asked = [NumberQuestion(answer=40, unit="rows", kind=kind) for kind in KINDS]
    said = run(GENERIC, [question.data() for question in asked])
    assert len({messages[0] for messages in said}) == len(KINDS)
    for kind, (message, _) in zip(KINDS, said, strict=True):
        assert message.startswith("Too small"), kind
        assert "undefined" not in message, kind
        assert ("product" in message) == (kind == "product"), kind
    assert {item.kind for item in QUESTIONS.values()} == set(KINDS)
    share, digits = judge("decoding-roofline/half", "0.77", "770")
    assert share["message"].startswith("That is the share of 1")
    assert digits["message"].startswith("The digits are right, their size is not")
