"""The predictions of the chapter on tokens."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.example.prose import PROSE, SENTENCE
from mini_attn.models import MODELS
from mini_attn.tokens import BytePairs, learn_merges
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

LLAMA, E2B = MODELS["llama-3-8b"], MODELS["gemma-4-e2b"]
MERGES = 256


def _overlap() -> Question:
    letters = 9
    answer = letters // 2 + letters % 2
    return Question(
        key="tokens/overlap",
        text=f"A text is {letters} times the letter a, so “a, a” is a pair {letters - 1} times. A "
        "merge makes one token of each pair “a, a” that it finds, from left to right. How many "
        "tokens are left?",
        answer=answer,
        unit="tokens",
        kind="count",
        explanation=f"In one walk, a token can only go into one pair. So {letters // 2} pairs "
        f"become tokens, and one a is left over: {answer} tokens. The pair was counted "
        f"{letters - 1} times, and merged {letters // 2} times.",
        mistakes=(
            Mistake(letters // 2, f"{letters} is odd. What becomes of the last a?"),
            Mistake(letters - 1, "Those are the pairs that we count. Two neighboring pairs share "
                    "an a, and it can't go into both."),
            Mistake(1, "A merge joins two tokens. What it made isn't the letter a anymore, so "
                    "this merge doesn't touch it again."),
            Mistake(2, "A merge makes one token of *two*. For longer ones, it takes more merges."),
            Mistake(3, "A merge joins two tokens, not three."),
            Mistake(letters, "Then nothing would have been merged."),
        ),
    )  # fmt: skip


def _sequences() -> Question:
    letters = 10
    before, answer = 1, 1
    for _ in range(letters - 1):
        before, answer = answer, before + answer
    return Question(
        key="tokens/sequences",
        text=f"A vocabulary has two tokens, “a” and “aa”. How many different sequences of tokens "
        f"decode to the same text, {letters} times a?",
        answer=answer,
        unit="sequences",
        kind="count",
        explanation="A sequence ends with “a” or with “aa”, so each number is the sum of the two "
        f"before it: 1, 2, 3, 5, 8 and so on. For {letters} letters, it's {answer}. All of them "
        "decode correctly, and a tokenizer gives one of them.",
        mistakes=(
            Mistake(letters // 2 + 1, "That's how many numbers of “aa” there can be. They can also "
                    "be in different places."),
            Mistake(2 ** (letters - 1), "That's every way to cut the text. No token has three "
                    "letters."),
            Mistake(2**letters, "Not every choice fits: a token of two letters uses both."),
            Mistake(before, f"That's for {letters - 1} letters."),
            Mistake(before + answer, f"That's for {letters + 1} letters."),
            Mistake(letters - 1, f"That's how many places there are for one “aa”. There can be up "
                    f"to {letters // 2} of them."),
            Mistake(letters, "Those are the places for at most one “aa”. There can be more."),
            Mistake(1, "A tokenizer gives one, but how many *decode* to the text?"),
            Mistake(2, "All of one kind or all of the other: they can also be mixed."),
        ),
    )  # fmt: skip


def _one_sign() -> Question:
    sign = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"
    answer = len(sign.encode())
    return Question(
        key="tokens/one-sign",
        text="The emoji of a family is shown as one symbol. It's written as three people, a man, a "
        "woman and a girl, with an invisible joiner between neighbors. In UTF-8, a person takes 4 "
        "bytes and a joiner 3. No merge knows these bytes. How many tokens is the emoji?",
        answer=answer,
        unit="tokens",
        kind="sum",
        explanation=f"3 · 4 + 2 · 3 = {answer} bytes, and without merges every byte is a token. A "
        "model that writes this emoji needs that many steps. After 4 of them, a reader may see a "
        "man, and the whole family only after the last.",
        mistakes=(
            Mistake(1, "It's one symbol for the eye. A tokenizer sees bytes."),
            Mistake(3, "Those are the people. Each is 4 bytes, and there are joiners."),
            Mistake(5, "Those are the code points. Each takes several bytes in UTF-8."),
            Mistake(12, "Those are the people alone. There are joiners between them."),
            Mistake(15, "There are three people, so there are two places for a joiner."),
            Mistake(21, "A joiner is *between* two people: there are two of them."),
            Mistake(8, "That's how a language with 16-bit characters counts. UTF-8 is made of "
                    "bytes."),
        ),
    )  # fmt: skip


def _language() -> Question:
    tokenizer = BytePairs.from_merges(learn_merges(PROSE, MERGES, pattern="gpt2"), pattern="gpt2")
    english, hindi = (SENTENCE[name] for name in ("English", "Hindi"))
    few, many = (len(tokenizer.encode(text)) for text in (english, hindi))
    characters, size = len(hindi), len(hindi.encode())
    return Question(
        key="tokens/language",
        text=f"With {MERGES} merges from our English sample, an English sentence of {len(english)} "
        f"characters takes {few} tokens. The same sentence in Hindi has {characters} characters, "
        f"which take {size} bytes in UTF-8. How many times the tokens of the English sentence is "
        "that?",
        answer=round(many / few, 1),
        unit="times",
        kind="ratio",
        tolerance=0.03,
        explanation=f"None of the merges knows these bytes, so all {many} of them are tokens: "
        f"{many} / {few} = {many / few:.1f}. The same sentence takes that many times the cache, "
        "and as many steps.",
        mistakes=(
            Mistake(size / len(english), "That compares bytes with bytes. In English, merges made "
                    f"{few} tokens of {len(english)} bytes."),
            Mistake(characters / len(english), "That compares characters. Which of the merges "
                    "knows a character of Hindi?"),
            Mistake(characters / few, "That would be one token per character. A merge would have "
                    "to make it of its bytes. Which one?"),
            Mistake(size / characters, "That's how many bytes a character takes."),
            Mistake(few / many, "That's English over Hindi."),
            Mistake(1, "It's the same sentence, but the merges were learned on English."),
        ),
    )  # fmt: skip


def _logits() -> Question:
    work = {n: cost.matmul_flops(LLAMA, q_len=1, kv_len=n) for n in (1, 2)}
    per_key = sum(work[2][part] - work[1][part] for part in ("scores", "weighted sum"))
    answer = work[1]["logits"] / per_key
    layers, width, vocabulary = LLAMA.n_layers, LLAMA.d_model, LLAMA.vocab_size
    return Question(
        key="tokens/logits",
        text=f"At the end of each step, Llama-3-8B multiplies one vector of width {width:,} by a "
        f"row for each of its {vocabulary:,} tokens. In attention, each of {layers} layers spends "
        f"4 · {width:,} FLOPs per token of the context. At how many tokens of context does "
        "attention cost as many FLOPs as that last product?",
        answer=round(answer),
        unit="tokens",
        kind="crossover",
        tolerance=0.01,
        explanation=f"2 · {width:,} · {vocabulary:,} FLOPs for the last product, and {layers} · 4 "
        f"· {width:,} per token of context: {vocabulary:,} / (2 · {layers}) = {answer:,.0f}. Below "
        "that, the vocabulary costs more than attending.",
        mistakes=(
            Mistake(answer * layers, f"Attention runs in all {layers} layers, the last product "
                    "once."),
            Mistake(answer / 2, "A product of a vector with a matrix takes 2 FLOPs per entry: a "
                    "multiplication and an addition."),
            Mistake(2 * answer, "In attention, a token of context costs 4 FLOPs per entry: 2 in "
                    "its score and 2 in the weighted sum."),
            Mistake(vocabulary, "The width is on both sides. What's left of the two products?"),
            Mistake(answer / layers, f"Attention runs in {layers} layers, so it catches up sooner "
                    "than one layer would. You divided once too often."),
        ),
    )  # fmt: skip


def _share() -> Question:
    rows, width, layers, inner = E2B.vocab_size, E2B.d_model, E2B.n_layers, E2B.per_layer_dim
    total = cost.parameter_count(E2B)
    tables = rows * (width + layers * inner)
    return Question(
        key="tokens/share",
        text=f"Gemma 4 E2B has {total / 1e9:.2f} billion parameters. One table has a row of "
        f"{width:,} for each of {rows:,} tokens, and serves for embedding and logits. Another "
        f"table has a row of {inner} per token for each of {layers} layers. What percentage "
        "of the parameters is in the two tables?",
        answer=round(100 * tables / total),
        unit="percent",
        kind="share",
        tolerance=0.02,
        explanation=f"{rows:,} · ({width:,} + {layers} · {inner}) = {tables / 1e9:.2f} billion, "
        f"{tables / total:.0%} of all. A step reads only a few rows of the larger table, so it can "
        "stay in slow memory.",
        mistakes=(
            Mistake(100 * rows * width / total, "That's the first table alone. The second has a "
                    f"row per token for *each* of {layers} layers."),
            Mistake(100 * rows * layers * inner / total, "That's the second table alone."),
            Mistake(100 * rows * (width + inner) / total, f"The second table has {layers} rows per "
                    "token, one for each layer."),
            Mistake(100 * rows * (2 * width + layers * inner) / total, "Embedding and logits share "
                    "one table here. Count it once."),
            Mistake(100 - 100 * tables / total, "That's what's left for the layers."),
            Mistake(tables / total, "That's a fraction of 1. Give percent."),
        ),
    )  # fmt: skip


ALL = (_overlap(), _sequences(), _one_sign(), _language(), _logits(), _share())
