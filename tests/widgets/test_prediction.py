"""Predictions: computed answers, a sentence for each foreseen mistake, unreadable input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from mini_attn.errors import ConfigError, WidgetStateError
from mini_attn.widgets.base import load_schema
from mini_attn.widgets.prediction import Prediction, _told
from mini_attn.widgets.questions import QUESTIONS, Mistake, Question, inline, question
from tests.javascript import built, run
from tools.browser import launched

JUDGE = """
const [question, texts] = input;
return texts.map((text) => living.judge(question, text));
"""


def judge(key: str, *texts: str) -> list[dict[str, Any]]:
    """What the page says to each text typed as answer."""
    return run(JUDGE, [question(key).data(), texts])


def test_an_answer_is_told_alike_with_and_without_javascript() -> None:
    answers = [question.answer for question in QUESTIONS.values()]
    told = run("return input.map((number) => living.format(number));", answers)
    assert told == [_told(number) for number in answers]
    assert (_told(204_800), _told(3.0), _told(512 / 3)) == ("204,800", "3", "170.6667")


# Worked out by hand, not by the code that the questions use.
BY_HAND = {
    "mla/numbers": 512 + 64,
    "mla/devices": 576,
    "mla/reduction": 100 * (1 - 69_120 / 389_120),
    "mla/rank": 64,
    "mla/scale": 192**0.5,
    "mla/crossover": 171,
    "mla/merged": 1536 * 512 / (1536 * 128 + 128 * 512),
    "rope-scaling/never-round": 64 - 46,
    "rope-scaling/ntk-base": 82685,
    "rope-scaling/dynamic-base": 30528,
    "rope-scaling/swing": 464,  # 150 + 3.14159 / 0.01
    "rope-scaling/yarn-scores": 1.874,
    "rope-scaling/stale": 6000,
    "attention/score": 2 * 3 // 2,
    "attention/leak": 52,
    "attention/spread": 16,
    "attention/gradient": 25,
    "attention/aligned": 64 / 64**0.5,
    "kv-cache/passes": 100 * 101 // 2,
    "kv-cache/attention-share": round(100 * 36_864 / (36_864 + 2 * 123_532)),
    "kv-cache/copies": 1000 * 999 // 2 * 2 * 12 * 768 * 4,
    "kv-cache/gpt2-bytes": 2 * 12 * 12 * 64 * 4 * 100,
    "kv-cache/users": 2 * 8_030_261_248 + 64 * 4096 * 131_072,
    "kv-cache/novel": 100_000 * 2 * 32 * 8 * 128 * 2,
    "kv-cache/larger": 0.5,
    "kv-cache/true-bits": 3 + 64 / 16,
    "decoding-roofline/eight-bits": round(9000 / 8 / 4),
    "decoding-roofline/attention-batch": 4,
    "decoding-roofline/latent": 242,
    "decoding-roofline/single": 223,
    "decoding-roofline/half": 77,
    "decoding-roofline/read-or-write": round(14.687 / 4.5197, 1),
    "attention-cost/million": round(100 * 436_207_616 / (436_207_616 + 8192 * 1_000_001), 2),
    "attention-cost/doubled": round((2 * 8 * 768 + 16 * 1000) / (8 * 768 + 4 * 1000), 2),
    "attention-cost/half": 6 * 768,
    "attention-cost/softmax": round(500 / 256, 2),
    "attention-cost/training": 8 * 12 * 1000 * 1000 * 12 * 2,
    "attention-cost/order": 16_384 // 64,
    "start/embedding-share": 31,  # 38,597,376 of 124,439,808
    "start/ratio": 7.39,
    "start/crowd": 12.9,
    "start/shape": 2 * 3 * 4 * 5,
    "mqa-gqa/reader": 3,
    "mqa-gqa/ten-times": 80 * 8 / (32 * 32),
    "mqa-gqa/one-sequence": 1.2,  # (15 + 4.3) / (15 + 1.1)
    "mqa-gqa/devices": 2 * 80 * 1 * 128 * 2,
    "mqa-gqa/score-flops": 1,
    "mqa-gqa/intensity": 128 // 8,
    "mqa-gqa/repeat": 1 + 4 + 4,
    "mqa-gqa/step-bytes": 2 * (8_030_261_248 - 128_256 * 4096) + 8 * 4096 * 524_288,
    "model/guess": 4.771,
    "model/addends": 11,
    "model/phase": 1300 - 1150,
    "multihead/weights": 16 * 32 / (8 * 64),
    "multihead/overtake": 443,  # √(4 * 768² / 12) = 443.4
    "multihead/favourites": 2,
    "multihead/rank": 64,
    "multihead/bias": 512,
    "matmul/flops": 512,
    "matmul/order": 4096 * 4096 * (64 + 1) / (2 * 4096 * 64),
    "matmul/tiles": 2,
    "matmul/square": 1024 / 6,
    "matmul/one-row": 2 * 4096**2 / (4 * (4096**2 + 8192)),
    "matmul/ridge": 989.4e12 / 3.35e12,
    "rope/difference": 4 / 2,  # 2 * 2 * cos 60°
    "rope/partner": 128 // 2,
    "rope/wavelength": 54_410,  # 6.28319 * 8659.64
    "rope/lookalike": 44 + 1,  # 44 = 7.003 * 2 pi
    "rope/bfloat16": 256 + 4 * 128 + 1,
    "paged/held": 100 * 350 / 2048,
    "paged/empty": 50 * 15,
    "paged/fork": 4 - 1,
    "paged/hit": 128 - 96,
    "paged/steps": 9 + 1,
    "paged/pays": 0.939,
    "sliding-window/pairs": 1 + 2 + 8 * 3,
    "sliding-window/wrap": 4096,
    "sliding-window/chunk": 1000 + 4095,
    "sliding-window/reach": 32 * 4095,
    "sliding-window/faster": 20,  # 7 / 8 of 4.3 GB, of 18.5 GB
    "sliding-window/full-share": 96,  # 10 * 131,072 of that and 52 * 1,024
    "sliding-window/copy": 39 + 1,
    "flash/passes": 32,
    "flash/merge": 56 / 8,
    "flash/bytes": 4 * 4096 * 4096 * 128 / (32 * 2 * 4096 * 128 * 2),
    "flash/dead": 15 * 16 // 2,
    "flash/again": 100 / 6,
    "flash/programs": 132 - 8,
    "bits/step": 0.12,  # half of 3.6 / 15
    "bits/outlier": 2,  # codes 0 and 1, which stand for -1 and 2
    "bits/largest": 2**8 * 1.75,
    "bits/below-one": 6 * 8 + 7,
    "bits/compensate": 0.5 - 0.8 * 0.3,
    "bits/pattern": 100 * (16 + 2 + 16 + 2) / 64,
    "fewer-keys/strided": 8 * 9 // 2,
    "fewer-keys/sink": 100 // 5,
    "fewer-keys/heavy": 2,  # 1.8, 0.9, 0.7 and 0.6, the last of which is safe
    "fewer-keys/position": 1000,
    "fewer-keys/blocks": 4095 + 1024 + 512,
    "fewer-keys/indexer": 79,  # 131,072 * 16,512 of that and 2,048 * 278,528
    "shared-layers/read": 32 * 8192 * 2 * 8 * 128 * 2,
    "shared-layers/outputs": 16 - 1,
    "shared-layers/growing": 15 // 5,
    "shared-layers/layers": 3,
    "shared-layers/unread": 128 - 1,
    "shared-layers/contrast": 11.3,  # √128
    "devices/speedup": 32.3,  # 64 * 64 / 2 blocks by one, 63.5 by the last of the ring
    "devices/latent": 576 / 256,
    "devices/window": 8 - 1,
    "devices/overlap": 79152,  # 2 * 8 * 989.4e12 * 8 / (32 * 50e9)
    "devices/ulysses": (32 + 8) / (8 * 4),
    "devices/decode": 7 * 32 * (128 + 1),
    "tokens/overlap": 4 + 1,
    "tokens/sequences": 89,  # Fibonacci: 1, 2, 3, 5, 8, 13, 21, 34, 55, 89
    "tokens/one-sign": 3 * 4 + 2 * 3,
    "tokens/language": round(233 / 30, 1),  # each byte of Hindi; 30 counted in the picture
    "tokens/logits": 2004,  # 128256 / (2 * 32)
    "tokens/share": round(100 * 2751463424 / 4628569379),  # 262144 * (1536 + 35 * 256), of all
    "state/break-even": 496,  # (6 * 16384 + 3 * 8192 + 4096) / 256
    "state/pays": 32 * 128 * 128 * 4 // 2048,
    "state/capacity": 32 + 1,
    "state/half-life": 69,  # 0.6931 / 0.01005 = 68.97
    "state/newest": 8,
    "state/snapshots": 8 * 36 * 2_097_152 // (12 * 2048),
    "position/orders": 7 * 6 * 5 * 4 * 3 * 2,
    "position/integers": 1808.042,  # e^7.5
    "position/length": 512 // 2,
    "position/bucket": 113 - 99,
    "position/newest": 86.5,  # 1 − e^−2
    "position/shaw-work": 512 / 33,
    "choosing/as-small-as-latent": 4.5,  # 576 * 16 / 2,048
    "choosing/beside-latent": 2,
    "choosing/window-or-one-head": 4096 * 8,
    "choosing/faster": 15,  # 5.12 to 4.35 ms
    "choosing/latent-work": 4.25,
}


def test_answers_equal_the_ones_worked_by_hand() -> None:
    assert {key: item.answer for key, item in QUESTIONS.items()} == BY_HAND
    assert load_schema("prediction")["question"]["values"] == list(QUESTIONS)


@pytest.mark.parametrize("key", QUESTIONS)
def test_each_foreseen_mistake_gets_its_sentence(key: str) -> None:
    item = question(key)
    assert len(item.mistakes) >= 5
    typed = [f"{mistake.value:,}" for mistake in item.mistakes]
    for mistake, said in zip(item.mistakes, judge(key, *typed), strict=True):
        assert said["verdict"] == "mistake", mistake
        assert said["message"] == mistake.message


@pytest.mark.parametrize("key", QUESTIONS)
def test_the_answer_is_taken_in_every_notation(key: str) -> None:
    item = question(key)
    n = item.answer
    typed = [f"{n}", f"{n:,}", f" {n} ", f"{n:,}".replace(",", " "), f"{n:_}", f"{float(n)}"]
    typed += [f"{n:e}"]
    typed += [f"{n / 1000}e3", f"{n} {item.unit}", f"{n} {item.unit.split()[-1]}"]
    if item.unit == "bytes":
        typed += [
            f"{n} B",
            f"{n / 1e3:.2f} kB",
            f"{n / 1e6} MB",
            f"{n / 2**10} KiB",
            f"{n / 2**20}MiB",
        ]
    for text, said in zip(typed, judge(key, *typed), strict=True):
        assert said["verdict"] == "right", text
        assert said["message"] == item.explanation


def test_rounded_megabytes_are_right_and_mebibytes_named() -> None:
    right, also, mebi, mixed, far = judge(
        "kv-cache/gpt2-bytes", "7.37 MB", "7.4 MB", "7.03 MiB", "7.03 MB", "7.6 MB"
    )
    assert [said["verdict"] for said in (right, also, mebi)] == ["right"] * 3
    assert mixed["verdict"] == "mistake"
    assert "MiB" in mixed["message"]
    assert far["verdict"] == "wrong"


UNREADABLE = [
    "", "   ", "many", "NaN", "nan", "Infinity", "-Infinity", "1e999", "1e-999", "0", "-5050",
    "1,23,456", "5.0.5", "0x13BA", "5e", "--5", "5" * 400, "١٢٣", "5050; drop",
    "5050 MB", "5050 parsecs", "5-6-", "5–6", "5 to 6",
    "1/0", "0/0", "sqrt(-1)", "(5", "2 ^ 99999", "5 m/s", "__proto__",
    "5 constructor", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>",
]  # fmt: skip


def test_unreadable_input_is_told_what_to_type() -> None:
    for text, said in zip(UNREADABLE, judge("kv-cache/passes", *UNREADABLE), strict=True):
        assert said["verdict"] == "unread", text
        assert said["message"].endswith((".", "welcome.")), text
        assert "<" not in said["message"], text
    assert judge("kv-cache/gpt2-bytes", "5 toString")[0]["verdict"] == "unread"


def test_other_wrong_numbers_get_a_direction_and_a_factor() -> None:
    large, small, close, far = judge("kv-cache/passes", "15150", "1,010", "5,051", "9e9")
    assert large["message"].startswith("Too large, by a factor of about 3.")
    assert small["message"].startswith("Too small, by a factor of about 5.")
    assert close["message"].startswith("Close, but a little too large.")
    assert "more than a thousand times" in far["message"]


def test_questions_that_cannot_work_are_refused() -> None:
    good = {"key": "a/b", "text": "How many?", "answer": 4, "unit": "rows", "explanation": "So."}
    Question(**good, mistakes=(Mistake(8, "Twice."),))
    for bad in (
        {"answer": 0}, {"answer": True}, {"text": ""}, {"explanation": ""}, {"unit": ""},
        {"tolerance": 0.5}, {"kind": "riddle"}, {"mistakes": (Mistake(4, "The answer."),)},
        {"mistakes": (Mistake(8, "Twice."), Mistake(8, "Again."))},
        {"mistakes": (Mistake(4.01, "Too close."),), "tolerance": 0.01},
    ):  # fmt: skip
        with pytest.raises(ConfigError):
            Question(**{**good, "mistakes": (), **bad})
    with pytest.raises(ConfigError, match="question must be one of"):
        question("kv-cache/nothing")


@pytest.mark.parametrize("bad", ["kv-cache/nothing", "", "<b>", None, 5])
def test_unknown_questions_are_refused(bad: Any) -> None:
    with pytest.raises(WidgetStateError):
        Prediction(bad)
    with pytest.raises(WidgetStateError):
        Prediction("kv-cache/passes", attempt="1" * 41)


def test_without_javascript_question_and_closed_answer_stand_in_the_page() -> None:
    bundle, _ = Prediction("kv-cache/copies", attempt="</script><b>")._repr_mimebundle_()
    page = bundle["text/html"]
    assert "<code>k = np.concatenate([k, new_row])</code>" in page
    assert "<details><summary>The answer</summary><p>36,827,136,000 bytes. " in page
    assert page.count("</script>") == 2  # of the state and of the question, none from the attempt
    assert bundle["text/plain"].startswith("Predict: GPT-2's cache grows to 1,000 tokens")
    assert "Answer: 36,827,136,000 bytes." in bundle["text/plain"]
    assert "image/png" not in bundle


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """Two predictions on a page of their own, opened from the folder."""
    boxes = "".join(Prediction(key)._html() for key in ("kv-cache/gpt2-bytes", "kv-cache/larger"))
    source = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Predictions</title>'
        f'<script src="{(built() / "living.page.js").as_uri()}" defer></script>{boxes}'
    )
    (tmp_path / "page.html").write_text(source, encoding="utf-8")
    with launched() as browser:
        opened = browser.new_page()
        errors: list[str] = []
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.goto((tmp_path / "page.html").as_uri())
        yield opened
        opened.close()
    assert errors == []


@pytest.mark.browser
def test_a_reader_answers_by_keyboard_and_finds_the_attempt_again(page: Page) -> None:
    first, second = page.locator(".predict:not(.predict-fallback)").all()
    answer, said = first.get_by_label("Your answer"), first.get_by_role("status")
    assert first.get_by_role("button", name="Show me without guessing").is_visible()
    assert not first.get_by_role("button", name="Start again").is_visible()
    answer.press("Enter")
    assert "Type a number first" in said.inner_text()
    answer.fill("614,400")
    answer.press("Enter")
    assert "That's one layer." in said.inner_text()
    assert second.get_by_role("status").inner_text() == ""

    page.reload()  # the attempt is still there, in its own question only
    first, second = page.locator(".predict:not(.predict-fallback)").all()
    answer, said = first.get_by_label("Your answer"), first.get_by_role("status")
    assert answer.input_value() == "614,400"
    assert "That's one layer." in said.inner_text()
    assert second.get_by_label("Your answer").input_value() == ""

    first.get_by_role("button", name="Show the answer").click()
    assert "The answer is 7,372,800 bytes." in said.inner_text()
    first.get_by_role("button", name="Start again").click()
    assert said.inner_text() == ""
    assert answer.input_value() == ""
    answer.fill("7.37 MB")
    first.get_by_role("button", name="Check").click()
    assert "Right. 2 (keys and values)" in said.inner_text()


@pytest.mark.browser
def test_typed_and_stored_markup_stays_text(page: Page) -> None:
    evil = "<img src=x onerror=window.bad=1>"
    box = page.locator(".predict:not(.predict-fallback)").first
    box.get_by_label("Your answer").fill(evil)
    box.get_by_role("button", name="Check").click()
    assert "not a number" in box.get_by_role("status").inner_text()
    for stored in (evil, "{", "null", "[]", json.dumps({"attempt": evil, "shown": "<b>"}),
                   json.dumps({"attempt": "9" * 99}), json.dumps({"attempt": 5})):  # fmt: skip
        page.evaluate(
            "text => localStorage.setItem('living:prediction:kv-cache/gpt2-bytes', text)", stored
        )
        page.reload()
        page.locator(".predict-form").first.wait_for()
        assert page.evaluate("window.bad") is None
        assert page.locator(".predict img, .predict b").count() == 0
        assert len(page.get_by_label("Your answer").first.input_value()) <= 40


def test_code_is_the_only_markup_of_a_question() -> None:
    text = "<b>`a < b` & <script>"
    both = run("return living.registry.prediction.inline(input);", text), inline(text)
    assert both == ("&lt;b&gt;<code>a &lt; b</code> &amp; &lt;script&gt;",) * 2
