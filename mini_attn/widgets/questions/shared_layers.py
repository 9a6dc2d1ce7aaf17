"""The predictions of the chapter on layers that share and entries that stand for several tokens."""

from __future__ import annotations

from dataclasses import replace

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

LLAMA, E2B = MODELS["llama-3-8b"], MODELS["gemma-4-e2b"]
READERS = LLAMA.n_layers // 2  # the last half of the layers


def _read() -> Question:
    context = 8192
    shared = replace(LLAMA, n_kv_shared_layers=READERS)
    held = cost.cache_bytes(shared, batch=1, context=context)
    read = cost.step_bytes(shared, kv_len=context)["cache read"]
    return Question(
        key="shared-layers/read",
        text=f"A model like Llama-3-8B has {LLAMA.n_layers} layers, and the last {READERS} read "
        f"the cache of the layer before them. At {context:,} tokens all caches of a sequence "
        f"together take {held / 1e9:.2f} GB in bfloat16. How many GB of cache does a decode step "
        "read?",
        answer=read,
        unit="bytes",
        kind="product",
        tolerance=0.01,
        explanation=f"Each of the {LLAMA.n_layers} layers reads keys and values of {context:,} "
        f"tokens, its own or another's: {read / 1e9:.2f} GB, as much as without sharing. Sharing "
        "halves what's held, not what's read.",
        mistakes=(
            Mistake(held, "That's what is held. One cache is read by "
                    f"{READERS + 1} layers, each with its own queries."),
            Mistake(held // 2, "That's half of what is held. Do the reading layers read nothing?"),
            Mistake(held * READERS, f"All {READERS} readers share one cache of the "
                    f"{READERS}. They don't each read all of them."),
            Mistake(2 * read, "Each layer reads its keys and values once, at 2 bytes per number."),
            Mistake(read // LLAMA.n_layers, f"That's one layer. All {LLAMA.n_layers} of them "
                    "attend."),
            Mistake(read // context, "That's one token. Each layer reads all of them."),
        ),
    )  # fmt: skip


def _outputs() -> Question:
    answer = READERS - 1
    return Question(
        key="shared-layers/outputs",
        text=f"The same model reads a prompt of 10,000 tokens, and only its next word matters. "
        f"The last {READERS} of {LLAMA.n_layers} layers read the cache of the layer before them. "
        "For how many layers do you need the outputs of all 10,000 tokens?",
        answer=answer,
        unit="layers",
        kind="count",
        explanation=f"Layer {READERS - 1}, counted from 0, is the last that keeps anything. Its "
        f"keys and values need its input, which is the output of layer {READERS - 2}. From there "
        "on, the last token is enough.",
        mistakes=(
            Mistake(READERS, "Nearly. The last layer that keeps needs its input at all tokens. "
                    "Who reads its output there?"),
            Mistake(LLAMA.n_layers, "A reader's output at an early token goes into no cache. Who "
                    "would use it?"),
            Mistake(READERS + 1, f"The first reader is layer {READERS}, counted from 0. Which "
                    "cache needs its output?"),
            Mistake(READERS - 2, f"Layers 0 to {READERS - 2} are {answer}, counted from 0."),
            Mistake(1, "Each keeping layer makes keys and values of all tokens, from the outputs "
                    "of the layer below it."),
        ),
    )  # fmt: skip


def _growing() -> Question:
    layers, shared, window = E2B.n_layers, E2B.n_kv_shared_layers, E2B.window
    keeping = layers - shared
    answer = sum(E2B.window_of(layer) is None for layer in range(keeping))
    return Question(
        key="shared-layers/growing",
        text=f"Gemma 4 E2B has {layers} layers. Every fifth sees all tokens, the others have a "
        f"window of {window}. The first {keeping} layers keep a cache, the last {shared} read one "
        "of those. How many caches still grow after 100,000 tokens?",
        answer=answer,
        unit="caches",
        kind="count",
        explanation=f"Of the first {keeping} layers every fifth sees all tokens: {answer} caches "
        f"grow. The other {keeping - answer} are rings of {window} slots.",
        mistakes=(
            Mistake(keeping, f"That many layers keep a cache, but most are rings of {window} "
                    "slots, which are full."),
            Mistake(layers // 5, "That many layers see all tokens, but some of them read another "
                    "layer's cache."),
            Mistake(layers, "That's all layers. Which of them keep a cache of their own, and "
                    "which of those are rings?"),
            Mistake(shared // 5, "Those are the readers that see all tokens. They keep nothing."),
            Mistake(keeping - answer, "Those are the rings. They no longer grow."),
            Mistake(shared, "Those are the readers. They keep nothing."),
        ),
    )  # fmt: skip


def _layers() -> Question:
    return Question(
        key="shared-layers/layers",
        text="With two layers, each with its own keys and values, our decoder copies. Suppose "
        "that the last layer has to read the cache of the layer before it. How many layers does "
        "a decoder need, at least, to copy the same way?",
        answer=3,
        unit="layers",
        kind="count",
        explanation="A copy needs keys that are made of an earlier layer's output. The first "
        "layer's aren't, so a second has to make them, and the reader comes third.",
        mistakes=(
            Mistake(2, "Then the second layer reads keys that the first one made of words alone. "
                    "They don't know which word came before."),
            Mistake(4, "One reader is enough. Which layer makes keys that know the word before?"),
            Mistake(1, "A single layer can't copy, with or without sharing: its keys are made of "
                    "single words."),
            Mistake(5, "Fewer are enough. Which layer makes keys that know the word before?"),
            Mistake(6, "Fewer are enough. Which layer makes keys that know the word before?"),
        ),
    )  # fmt: skip


def _unread() -> Question:
    span = 128
    answer = span - 1
    return Question(
        key="shared-layers/unread",
        text=f"Each complete span of {span} tokens becomes one entry, and there's no window. At "
        "the worst moment, how many of the latest tokens can the newest token's query not read, "
        "itself included?",
        answer=answer,
        unit="tokens",
        kind="count",
        explanation=f"A span of {answer} tokens isn't complete. With one more token it is, and "
        "its entry can be read.",
        mistakes=(
            Mistake(span, f"When {span} tokens are there, the span is complete and has its entry. "
                    "The worst moment is just before."),
            Mistake(span - 2, "Count the newest token too: it can't read itself, either."),
            Mistake(1, "More than that. The span that it belongs to isn't complete."),
            Mistake(span // 2, "That's about the mean. What's the worst?"),
            Mistake(2 * span - 1, "The span before is complete and has its entry."),
        ),
    )  # fmt: skip


def _contrast() -> Question:
    span = 128
    answer = span**0.5
    return Question(
        key="shared-layers/contrast",
        text=f"An entry is the plain mean of {span} independent random keys, scaled back to their "
        "size. A query equals one of the keys. How many times smaller is its score with the "
        "entry than with the key itself, on average?",
        answer=round(answer, 1),
        unit="times",
        kind="ratio",
        tolerance=0.03,
        explanation=f"In the mean, the key is divided by {span}. But the mean of independent keys "
        f"is itself √{span} times shorter, so scaling it back gains √{span}: "
        f"{span} / √{span} = {answer:.1f}.",
        mistakes=(
            Mistake(span, "That's before scaling back. How long is a mean of independent keys?"),
            Mistake(span / 2, "Write the mean as one key plus the others. How long is the sum of "
                    "independent keys?"),
            Mistake(7, f"That's the logarithm of {span}. How long is a sum of {span} independent "
                    "keys?"),
            Mistake(1, "The other keys of the entry have nothing to do with the query, but they "
                    "take their part of its size."),
            Mistake(span**2, "Scaling back makes the entry longer, so the score falls less."),
        ),
    )  # fmt: skip


ALL = (_read(), _outputs(), _growing(), _layers(), _unread(), _contrast())
