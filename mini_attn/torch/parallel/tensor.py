"""Tensor parallel: every rank computes some heads and columns of every layer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mini_attn import __version__
from mini_attn.caching import Transaction
from mini_attn.config import AttentionConfig, DecoderConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import DType, check_flag
from mini_attn.torch.layers._pass import Pass
from mini_attn.torch.layers.basic import MLP, Linear, linear
from mini_attn.torch.layers.decoder import Decoder, DecoderLayer
from mini_attn.torch.parallel._shares import check_names, part, share_config
from mini_attn.torch.parallel._split import (
    RowLinear,
    SplitEmbedding,
    SplitExperts,
    SplitGatedMLP,
    SplitMLP,
    Stream,
    WidthNorm,
    give,
    span,
    split_attention,
)
from mini_attn.torch.parallel._talk import digest
from mini_attn.torch.parallel.ranks import Ranks
from mini_attn.torch.positions.position import alibi_slopes
from mini_attn.variants import variant
from mini_attn.weights import read_checkpoint

__all__ = ["ShareDecoder", "parallelize", "read_share"]


class ShareDecoder(Decoder):
    """A rank's share of a `Decoder`: some heads, columns, experts and rows of the vocabulary.

    ``x = x + all_reduce(self_attn(norm(x)));  x = x + all_reduce(mlp(norm(x)))``

    Called as a `Decoder` is, by all ranks at once and with the same tokens; each gets the whole
    logits. Made by `parallelize`.

    Parameters
    ----------
    config : DecoderConfig
        Sizes and options of the whole.
    ranks : Ranks
        Who computes together.
    dtype : str or data type
        Data type or its name, as ``"float32"``.
    sequence_parallel : bool
        Whether, where no gradient is needed, each rank keeps only its share of the tokens
        between blocks.

    Raises
    ------
    ConfigError
        If a size can't be split over so many ranks; nothing has been sent then.
    RankError
        From a call: if another rank has died, hangs or has raised, or has other tokens, positions
        or caches. After any error this rank's caches are as they were.

    Notes
    -----
    A call sends, from each of P ranks, ``2 * (P - 1) / P * d_model`` values per token for the
    embedding and for each half of each block, ``(P - 1) / P * vocab_size`` per row of logits,
    and 96 bytes to each rank by which they notice other tokens. With ``sequence_parallel`` a
    block's input is gathered and its sum scattered, which sends the same, and once per token
    ``(P - 1) / P * d_model`` more: norms and what stands between blocks then take ``1 / P``. A
    step with fewer tokens than ranks stays whole. Where queries and keys are
    normalized over the ``"width"``, the sums of their squares come on top, 2 values per token.
    """

    def __init__(
        self,
        config: DecoderConfig,
        ranks: Ranks,
        *,
        dtype: DType = "float32",
        sequence_parallel: bool = False,
    ) -> None:
        check_flag("sequence_parallel", sequence_parallel)
        own = share_config(config, ranks.rank, ranks.size)
        super().__init__(own, dtype=dtype, device=ranks.device)
        self.config, self._ranks = config, ranks
        self.sequence_parallel, self._stream = sequence_parallel, Stream(ranks)
        for table in (self.embed_tokens, getattr(self, "per_layer_inputs", None)):
            table = getattr(table, "embed_tokens", table)
            if table is not None:
                give(table, SplitEmbedding, _ranks=ranks, _rows=config.vocab_size)
        for i, attention in enumerate(config.attentions):
            _split_attention(self.layers[i].self_attn, attention, self._stream)
            _split_mlp(self.layers[i].mlp, config, i, self._stream)
        self._add_gradients()

    def _sizes(self) -> dict[str, Any]:
        return {**super()._sizes(), "rank": self._ranks.rank, "ranks": self._ranks.size}

    def _run(
        self,
        tokens: Tensor,
        caches: Sequence[Any],
        positions: Tensor | None,
        transaction: Transaction,
        last_only: bool = False,
    ) -> Tensor:
        """Logits without checks, once all ranks agree on what they compute."""
        held = [None if cache is None else (type(cache).__name__, cache.slots) for cache in caches]
        asked = tokens, positions, (held, last_only)
        self._ranks.agree(asked, ("tokens", "positions", "caches"))
        split = self.sequence_parallel and not torch.is_grad_enabled()
        n = tokens.shape[1]
        self._stream.tokens = n if split and n >= self._ranks.size else None
        return super()._run(tokens, caches, positions, transaction, last_only)

    def _begin(self, tokens: Tensor, forward_pass: Pass) -> Tensor:
        x = super()._begin(tokens, forward_pass)
        if self._stream.tokens is None:
            return x
        if forward_pass.inputs is not None:
            forward_pass.inputs = self._stream.own(forward_pass.inputs)
        return self._stream.own(x)

    def _end(self, x: Tensor, last_only: bool) -> Tensor:
        return super()._end(self._stream.whole(x), last_only)

    def _logits(self, x: Tensor) -> Tensor:
        x, bound = self._ranks.copy(self.norm(x)), self.config.logit_softcap
        table = self.embed_tokens if self.config.tie_embeddings else self.lm_head
        logits = linear(x, table.weight)
        logits = logits if bound is None else bound * torch.tanh(logits / bound)
        size, whole = self._ranks.size, self.config.vocab_size
        rows = [len(span(whole, rank, size)) for rank in range(size)]
        padded = F.pad(logits, (0, max(rows) - logits.shape[-1]))
        every = self._ranks.all_gather(padded, axis=-1)
        if len(set(rows)) == 1:
            return every
        parts = torch.split(every, max(rows), dim=-1)
        return torch.cat([one[..., :n] for one, n in zip(parts, rows, strict=True)], dim=-1)

    def _check(
        self, tokens: Tensor, caches: Sequence[Any] | None, positions: Tensor | None
    ) -> list[Any]:
        """The caches, one for each layer, after every check that needs no computing."""
        checked, size = super()._check(tokens, caches, positions), self._ranks.size
        for i, cache in zip(self.config.keeping_layers, checked, strict=True):
            copied = getattr(self.config.attentions[i], "n_kv_heads", size) < size
            if copied and getattr(cache, "watches", False):
                raise ConfigError(
                    f"the cache of layer {i} keeps what all query heads of a group look at, and "
                    f"{size} ranks have that group in parts: use as many ranks as key/value heads"
                )
        return checked

    def _add_gradients(self) -> None:
        """Let weights that several ranks hold, each for its own heads, add their gradients."""
        for layer, attention in zip(self.layers, self.config.attentions, strict=True):
            assert isinstance(layer, DecoderLayer)
            kept = getattr(attention, "n_kv_heads", self._ranks.size)
            for name, weight in layer.self_attn.named_parameters():
                if name in ("o_proj.bias", "o_b_proj.bias"):
                    continue  # added to the sum of all ranks
                copied = name.split(".")[0] in ("k_proj", "v_proj") or (
                    name == "k_norm.weight" and attention.qk_norm_over == "width"
                )
                if copied and kept < self._ranks.size:
                    weight.register_hook(_Copied(self._ranks, kept))
                elif not copied and not _is_split(name, attention):
                    weight.register_hook(self._ranks._reduced)


class _Copied:
    """Adds the gradients of the ranks that hold the same key/value head."""

    def __init__(self, ranks: Ranks, n_kv_heads: int) -> None:
        self._ranks, self._held_by = ranks, ranks.size // n_kv_heads

    def __call__(self, grad: Tensor) -> Tensor:
        first = self._ranks.rank // self._held_by * self._held_by
        return self._ranks._gathered("all_gather", grad)[first : first + self._held_by].sum(dim=0)


def _is_split(name: str, attention: Any) -> bool:
    """Return whether each rank has rows or columns of its own of a layer's weight."""
    by_head = ("q_b_proj", "kv_b_proj", "o_proj", "o_a_proj", "o_b_proj", "sinks")
    if name.startswith("q_norm") and isinstance(attention, AttentionConfig):
        return attention.qk_norm_over == "width"
    if name.startswith("gate_proj"):
        return True
    return name.split(".")[0] in (*by_head, "q_proj")


def _split_attention(module: Any, attention: Any, stream: Stream) -> None:
    """Let an attention layer with a rank's heads talk to the others."""
    ranks = stream.ranks
    for name in ("o_b_proj", "o_proj"):
        if hasattr(module, name):
            give(getattr(module, name), RowLinear, _stream=stream)
            break
    if getattr(attention, "qk_norm", False) and attention.qk_norm_over == "width":
        held_by = max(ranks.size // attention.n_kv_heads, 1)
        give(module.q_norm, WidthNorm, _ranks=ranks, _copies=1)
        if hasattr(module, "k_norm"):  # a layer that reads another's keys has none
            give(module.k_norm, WidthNorm, _ranks=ranks, _copies=held_by)
    if getattr(module, "_slopes", None) is not None:
        heads = span(attention.n_heads, ranks.rank, ranks.size)
        module._slopes = alibi_slopes(attention.n_heads)[heads.start : heads.stop]
    kind: Any = type(module)
    give(module, split_attention(kind), _stream=stream)


def _split_mlp(module: Any, config: DecoderConfig, layer: int, stream: Stream) -> None:
    """Let an MLP with a rank's columns, or a rank's experts, talk to the others."""
    mixture = config.layer_experts[layer]
    if mixture is None:
        give(module.down_proj, RowLinear, _stream=stream)
        give(module, SplitMLP if isinstance(module, MLP) else SplitGatedMLP, _stream=stream)
        return
    kind: dict[str, Any] = {"dtype": module.gate_proj.dtype, "device": stream.ranks.device}
    bias = module.router.bias is not None
    module.config = mixture
    module.router = Linear(config.d_model, mixture.n_experts, bias=bias, **kind)
    give(module, SplitExperts, _stream=stream)


def parallelize(model: Decoder, ranks: Ranks, *, sequence_parallel: bool = False) -> ShareDecoder:
    """Keep this rank's share of a decoder: its heads, columns, experts and rows.

    ``logits = parallelize(model, ranks)(tokens)  # on all ranks: model(tokens)``

    Parameters
    ----------
    model : Decoder
        The same on all ranks; it stays as it is.
    ranks : Ranks
        Who computes together.
    sequence_parallel : bool
        As in `ShareDecoder`: a prompt's tokens are split too.

    Returns
    -------
    ShareDecoder
        With copies of this rank's weights, on its device. For `prefill`, `decode_step` and
        `generate` as the whole is.

    Raises
    ------
    ConfigError
        If the model is of another class, its weights are quantized, or a size can't be split:
        heads, d_ff, experts. Nothing has been sent then.
    RankError
        If the ranks differ in their configuration, weights or versions.

    Notes
    -----
    Rank r computes query heads ``r * n_heads / P`` and on. With fewer key/value heads than ranks
    several ranks compute and cache the same head: a rank's cache then no longer shrinks with P,
    and it never falls below one head. Latent attention has one latent for all heads, so every
    rank caches all of it, as it does an indexer's keys and compressed entries. Gradients are those
    of one process, if each rank takes the same loss; weights that several ranks hold, each for
    its own heads, add their gradients in the backward pass. A step is committed when this rank
    has the logits; caches that differ then are noticed at the next step's beginning.

    References
    ----------
    shoeybi2019megatron, section 3
    korthikanti2022reducing, section 4.2.2

    Examples
    --------
    >>> share = parallelize(model, ranks)  # doctest: +SKIP
    >>> share(tokens).shape  # doctest: +SKIP
    torch.Size([1, 3, 64])
    """
    if type(model) is not Decoder:
        raise ConfigError(f"model must be a Decoder, got {type(model).__name__}")
    state = model.state_dict()
    _check_layers(model)
    kind: dict[str, Any] = {"dtype": model.embed_tokens.weight.dtype}
    share = ShareDecoder(model.config, ranks, **kind, sequence_parallel=sequence_parallel)
    check_names(state, share.state_dict())
    version = __version__, torch.__version__
    told = version, model.config, [digest(weight) for weight in state.values()], sequence_parallel
    ranks.agree(told, ("versions", "configurations", "weights", "sequence_parallel"))
    _take(share, state)
    return share


def read_share(
    folder: str | os.PathLike[str], ranks: Ranks, *, sequence_parallel: bool = False
) -> ShareDecoder:
    """Read this rank's share of a model in Hugging Face's files.

    ``share = parallelize(whole model, ranks)``, without the whole model

    Parameters
    ----------
    folder : path
        As in `read_checkpoint`, for each rank on its own disk or on a shared one.
    ranks : Ranks
        Who computes together.
    sequence_parallel : bool
        As in `ShareDecoder`: a prompt's tokens are split too.

    Returns
    -------
    ShareDecoder
        In the dtype of the files, on this rank's device.

    Raises
    ------
    ConfigError, ShapeError, DTypeError
        As `read_checkpoint`, or if a size can't be split. Nothing has been sent then.
    RankError
        If the ranks read other configurations or weights of other names and shapes. Their numbers
        aren't compared: nobody reads all of them.

    Notes
    -----
    The files are mapped, so a rank's own memory holds its share and nothing else where a
    family's weights are stored as the decoder has them, as Llama's are. Where a layout is
    rearranged (experts that are stored one by one, a rotation's pairs in another order), the
    rearranged weights stand whole in memory until the share is cut out.

    Examples
    --------
    >>> share = read_share("Llama-3-8B", ranks)  # doctest: +SKIP
    """
    config, state = read_checkpoint(folder, backend="torch")
    kind: dict[str, Any] = {"dtype": state["embed_tokens.weight"].dtype}
    share = ShareDecoder(config, ranks, **kind, sequence_parallel=sequence_parallel)
    check_names(state, share.state_dict())
    shapes = sorted((name, str(w.dtype), tuple(w.shape)) for name, w in state.items())
    told = (__version__, torch.__version__), config, shapes, sequence_parallel
    names = "versions", "configurations", "names and shapes of weights", "sequence_parallel"
    ranks.agree(told, names)
    _take(share, state)
    return share


def _check_layers(model: Decoder) -> None:
    """Refuse layers from outside: nobody knows what their heads are."""
    for i, (layer, attention) in enumerate(zip(model.layers, model.config.attentions, strict=True)):
        known = variant(attention.variant).layer_class("torch")
        found = getattr(layer, "self_attn", layer)
        if type(layer) is not DecoderLayer or not (type(found) is known or layer._reads):
            raise ConfigError(
                f"layer {i} is a {type(found).__name__}: tensor parallel splits the package's "
                "own layers"
            )


def _take(share: ShareDecoder, state: Mapping[str, Any]) -> None:
    """Copy the rank's part of each weight."""
    ranks = share._ranks
    with torch.no_grad():
        for name, weight in share.state_dict().items():
            own = part(name, state[name], tuple(weight.shape), ranks.rank, ranks.size)
            weight.copy_(own)
