"""A sample of this book's own prose, from which the chapter on tokens learns, and a sentence in
ten languages: article 1 of the Universal Declaration of Human Rights, its first sentence.
"""

from __future__ import annotations

__all__ = ["PROSE", "SENTENCE"]

_TEXT = """
If you know what tokens, dot products and the softmax are, skip this page and continue with Scaled
dot-product attention. If you don't, start here: this page explains the parts that attention is
made of.

Attention is a way to look something up. A token asks a question, other tokens offer answers, and
what comes back is a mixture with more of the answers that match. It takes three ideas: a token is
a vector, the dot product measures how well two vectors match, and the softmax turns scores into
weights that sum to one.

A model doesn't read letters. A tokenizer cuts the text into pieces from a fixed list, the
vocabulary: words, parts of words and punctuation, often with the space in front, so " upon" and
"upon" differ. Each piece is a token, and the model gets its number in the list. GPT-2's tokenizer
splits the beginning of our running example, "Once upon a time", into four tokens:

A token's vector starts out knowing only its own word: "time" has to learn from other tokens that
"Once upon" came before it. That's what attention does. Each token asks a question, every token
offers an answer, and what comes back is an average of the answers, weighted by how well they
match.

We need three because a token may look for something other than itself: a verb may look for its
subject. And what makes a token easy to find isn't always what it has to say.

One attention computation gives each token one average of what the others hold. But language asks
several things at once: which word comes before this one, what does this pronoun refer to?
Multi-head attention (MHA) runs several small attention computations side by side, each with its
own queries, keys and values, and combines their results.

Why can't a single head ask two questions? Let's give it the matrices of both. Its queries then
have 8 entries, 4 from each head, and a dot product over 8 entries is the sum of two over 4.

A language model is autoregressive: it writes one token at a time, and before each one it looks
back at everything so far. Done naively, looking back means recomputing the whole sequence at
every step. But we only need two arrays from the earlier tokens, the keys and the values, and we
can store those. That store is the KV cache. With it, each step has just one new token to work on.

Of these five rows, only the last is new. We had the other four a step ago, and we computed them
again, along with their values, queries, scores and outputs. But only the last row of the output
is used to choose a token. How bad does it get?

Attention looks tokens up by their content, so they have to carry their positions with them.
Rotary embeddings (RoPE) rotate each query and each key by an angle that grows with its position.
When the two meet in a dot product, only their distance counts. Most recent open language models
work this way.

Without a mask and without positions, order does not count: "dog bites man" and "man bites dog"
give each word the same output. A causal mask gives some of the order back; a later chapter,
Order, measures how much.

The first transformers added a vector for the position to each embedding. Then the same two
tokens, three apart, get a different score at each place in the text: 4.82 at the beginning of our
example and 1.99 a hundred tokens later.

Take the four tokens of "Once upon a time", as vectors that only say what each token is. Add
sinusoidal positions to them, and let head 2 of the running example, the one that matches content,
compare " time" with "Once". We only move the two tokens through the text.

Reading a prompt and writing an answer use the same weights, the same layers and the same formula
for each token. Yet on a GPU, one phase can process tokens hundreds of times faster than the
other. What differs is how much arithmetic the model does for each byte it moves.

During decode, a model runs one step after the other. During prefill, all tokens of the prompt go
through it together. Here's what that means for one weight matrix of the running example, with the
prompt "Once upon a time" and the step for " there". A multiplication and an addition are 2 FLOPs:

Both read the same weights, but the prompt's four rows do four times as much work with them.
That's the whole difference: in prefill, many rows share one read.

On one core, a small decoder also processes a prompt faster than it writes, but only by a small
factor, because one core's arithmetic isn't much faster than its memory.

Four heads have their own keys and values, but the cache only holds one short vector and one small
key per token. Where do the keys come from?

You've seen two ways to make a KV cache smaller, and later chapters add more. This page puts them
all on one map and ends with a way to decide.

You know multi-head, grouped and multi-query attention and the latent. Three come later: a window
keeps only the last tokens, an indexer keeps every token and reads the 2,048 that score highest,
and native sparse attention reads a few blocks of keys, the means of all blocks and a window.

Give this model "once upon a time there was a" and it continues with "girl" or "boy", like the
stories it was trained on. Give it nine unrelated words and then the first few of them again, and
it continues with the next one. Let's look for the place where it copies. We'll find one small
head without which it can't copy.

A layer has four heads of dimension 16, an MLP that widens a vector from 64 numbers to 256 and
brings it back, and two norms with 64 learned gains each. One more norm comes at the end. The
table of embeddings is used twice, at the beginning and for the logits.

"Once upon a time" is a beginning, and "a time upon Once" is nothing. Attention by itself can't
tell the two apart, because it sees a set of tokens. Most models now tell it the order with rotary
embeddings. This page is about the other ways, from a plain number to no positions at all.

Each vector of the running example has eight numbers. The first four say what a token is about.
The other four say where it is: they're the hands of two clocks. Without the clocks, attention has
only the words.

(The proof takes two lines. It's in Scaled dot-product attention.) Attention is equivariant: the
same outputs come out in another order. It's easy to see what that breaks. Our text has the word
"a" twice, and both times it gets the same output, to the last digit printed:
"""

PROSE = "\n\n".join(" ".join(part.split()) for part in _TEXT.strip().split("\n\n"))

SENTENCE = {
    "English": "All human beings are born free and equal in dignity and rights.",
    "German": "Alle Menschen sind frei und gleich an Würde und Rechten geboren.",
    "Spanish": "Todos los seres humanos nacen libres e iguales en dignidad y derechos.",
    "French": "Tous les êtres humains naissent libres et égaux en dignité et en droits.",
    "Chinese": "人人生而自由,在尊严和权利上一律平等。",
    "Arabic": "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق.",
    "Japanese": (
        "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"
    ),
    "Russian": "Все люди рождаются свободными и равными в своем достоинстве и правах.",
    "Greek": (
        "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα."
    ),
    "Hindi": ("सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।"),
}
