"""Linear attention: a layer whose heads rewrite one matrix instead of keeping keys and values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching.validation import check_cache
from mini_attn.config import LinearAttentionConfig
from mini_attn.errors import ConfigError
from mini_attn.numpy._module import Module, check_tokens, dtype_of
from mini_attn.numpy.attention.convolution import short_convolution
from mini_attn.numpy.attention.recurrence import chunked_attention, recurrent_attention
from mini_attn.numpy.caches.cache_state import Held, StateCache
from mini_attn.numpy.layers._heads import merge, opened, split
from mini_attn.numpy.layers._pass import Pass, begin_pass
from mini_attn.numpy.layers.basic import Linear, Norm, _activate, normalise_rms
from mini_attn.shapes import DType, check_count

__all__ = ["LinearAttention"]

Array = NDArray[Any]
CHUNK = 64
UNIT_EPS = 1e-6  # added to the squared length of queries and keys that get length 1


class ShortConvolution(Module):
    """The weights of a short convolution over the channels of queries, keys and values."""

    def __init__(self, channels: int, width: int, *, bias: bool, seed: int, dtype: DType) -> None:
        bound, kind = width**-0.5, dtype_of(dtype)
        drawn = np.random.default_rng(seed).uniform(-bound, bound, (channels, width))
        self.weight = drawn.astype(kind)
        self.bias = np.zeros(channels, kind) if bias else None


class LinearAttention(Module):
    """Attention whose past is one matrix per head: each token decays it, writes and reads.

    ``S = exp(log_decay) * S + k u.T;  out = norm(scale * S.T @ q) * gate(g_proj(x)) @ o_proj``

    Parameters
    ----------
    config : LinearAttentionConfig
        Sizes and options.
    seed : int
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If the configuration is of another kind.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    ``q, k, v = silu(conv1d(q_proj(x), k_proj(x), v_proj(x)))``, without a convolution
    ``silu`` alone; with the delta rule queries and keys have length 1.

    =========== ============================================ ======================== ===========
    kind        log_decay                                    u                        gate
    =========== ============================================ ======================== ===========
    lightning   ``-decay[h]``                                ``v``                    ``sigmoid``
    gated_delta ``-exp(A_log) * softplus(a_proj + dt_bias)`` ``beta * (v - S.T @ k)`` ``silu``
    kimi_delta  the same for each channel of a key           ``beta * (v - S.T @ k)`` ``sigmoid``
    mamba2      ``-exp(A_log) * dt``                         ``dt * v``               ``silu``
    =========== ============================================ ======================== ===========

    ``beta = sigmoid(b_proj(x))``; ``dt = softplus(a_proj(x) + dt_bias)``. Mamba-2 adds
    ``D * v`` to what is read, and gates before it norms; the others norm first.

    Weights: ``q_proj``, ``k_proj``, ``v_proj``, ``g_proj``, ``o_norm``, ``o_proj``, and as the
    kind needs them ``conv1d`` (channels, conv_kernel), ``a_proj``, ``A_log``, ``dt_bias``,
    ``b_proj``, ``D``; in ``kimi_delta`` decays and gates go through a narrow product, ``f_a_proj``
    and ``f_b_proj``, ``g_a_proj`` and ``g_b_proj``.

    Causal. A lone token runs the recurrent form, several the chunked one. A padded token leaves
    the state as it was.

    References
    ----------
    katharopoulos2020linear, section 3.3
    yang2024gateddelta
    kimi2025linear
    dao2024mamba2

    Examples
    --------
    >>> import numpy as np
    >>> config = LinearAttentionConfig(d_model=8, n_heads=2, head_dim=4, kind="gated_delta")
    >>> LinearAttention(config)(np.ones((1, 3, 8), np.float32)).shape
    (1, 3, 8)
    """

    _outer: Pass | None = None  # a decoder's, while it makes the public call

    def __init__(
        self, config: LinearAttentionConfig, *, seed: int = 0, dtype: DType = "float32"
    ) -> None:
        if not isinstance(config, LinearAttentionConfig):
            raise ConfigError(f"config must be a LinearAttentionConfig, got {config!r:.60}")
        check_count("seed", seed, least=0)
        self.config = config
        d_model, keys, values = config.d_model, config.key_width, config.value_width
        kind: dict[str, Any] = {"bias": config.bias, "dtype": dtype}
        if config.rule.decay != "constant":
            self._draw_steps(seed + 10, dtype)
        self.q_proj = Linear(d_model, keys, seed=seed, **kind)
        self.k_proj = Linear(d_model, keys, seed=seed + 1, **kind)
        self.v_proj = Linear(d_model, values, seed=seed + 2, **kind)
        self.o_proj = Linear(values, d_model, bias=config.out_bias, seed=seed + 3, dtype=dtype)
        if config.conv_kernel > 1:
            sizes = 2 * keys + values, config.conv_kernel
            self.conv1d = ShortConvolution(
                *sizes, bias=config.conv_bias, seed=seed + 4, dtype=dtype
            )
        self._draw_rule(seed + 5, kind)
        normed = config.v_head_dim if config.norm_over == "head" else values
        self.o_norm = Norm(normed, "rms_norm", eps=config.eps, dtype=dtype)
        names = ("n_heads", "head_dim", "v_head_dim", "n_key_heads", "conv_kernel")
        self._cache_sizes = {name: getattr(config, name) for name in names}

    def _draw_rule(self, seed: int, kind: dict[str, Any]) -> None:
        """Make the weights of what decides how the state decays and is written, and of the gate."""
        config, rank = self.config, self.config.gate_rank
        d_model, values = config.d_model, config.value_width
        if rank is None:
            self.g_proj = Linear(d_model, values, seed=seed, **kind)
        else:
            self.g_a_proj = Linear(d_model, rank, seed=seed, **kind)
            self.g_b_proj = Linear(rank, values, seed=seed + 1, **kind)
        if config.rule.delta:
            self.b_proj = Linear(d_model, config.n_heads, seed=seed + 2, **kind)
        if config.rule.decay == "constant":
            return
        if rank is None:
            self.a_proj = Linear(d_model, config.n_heads, seed=seed + 3, **kind)
        else:
            self.f_a_proj = Linear(d_model, rank, seed=seed + 3, **kind)
            self.f_b_proj = Linear(rank, config.key_width, seed=seed + 4, **kind)

    def _draw_steps(self, seed: int, dtype: DType) -> None:
        """Make the numbers that decays begin with; they stand before the layer's matrices."""
        config = self.config
        steps = config.key_width if config.rule.decay == "channel" else config.n_heads
        rng, of = np.random.default_rng(seed), dtype_of(dtype)
        self.A_log = np.log(rng.uniform(1, 16, config.n_heads)).astype(of)
        first = np.exp(rng.uniform(np.log(0.001), np.log(0.1), steps))
        self.dt_bias = np.log(np.expm1(first)).astype(of)  # softplus makes it the first step again
        if config.kind == "mamba2":
            self.D = np.ones(config.n_heads, of)

    def new_cache(self, batch: int, capacity: int) -> StateCache:
        """An empty cache that fits this layer.

        ``allocated_bytes = batch * (n_heads * head_dim * v_head_dim * max(dtype_bytes, 4) +
        (conv_kernel - 1) * (2 * n_key_heads * head_dim + n_heads * v_head_dim) * dtype_bytes)``

        Parameters
        ----------
        batch, capacity : int
            Sequences, and tokens that each may have; the bytes are the same for any number.

        Returns
        -------
        StateCache
            In the dtype of the weights, with a state in float32 or wider.

        Raises
        ------
        ConfigError
            If a number is below 1.
        """
        kind: dict[str, Any] = {**self._cache_sizes, "dtype": self.q_proj.weight.dtype.name}
        return StateCache(batch, capacity=check_count("capacity", capacity), **kind)

    def __call__(
        self, x: Array, *, cache: StateCache | None = None, positions: Array | None = None
    ) -> Array:
        """Let each token read what those before it have written.

        ``out = norm(scale * S.T @ q) * gate(g_proj(x)) @ o_proj``

        Parameters
        ----------
        x : array (batch, q_len, d_model)
            Tokens.
        cache : StateCache or None
            The state before them, which becomes the state after them.
        positions : integer array (q_len,) or (batch, q_len), or None
            Positions of ``x``: -1 for padding, and else only their order matters; None continues
            the cache, or counts from 0.

        Returns
        -------
        array (batch, q_len, d_model)
            Read and gated; a padded token gets the output projection's bias.

        Raises
        ------
        ShapeError
            If a shape is wrong.
        DTypeError
            If a dtype is not the weights'.
        ConfigError
            If positions do not grow within a row.
        CacheOverflowError
            If the cache has had all tokens that it may have. After any error it is as it was.
        """
        check_tokens("x", x, self.q_proj.weight)
        forward_pass = begin_pass(x, cache, positions)
        if cache is not None:
            check_cache(cache, self, len(x), x.dtype)
        out = self._run(x, forward_pass, cache)
        if cache is not None:
            forward_pass.transaction.commit()
        return out

    _checked_call = __call__

    def _run(self, x: Array, forward_pass: Pass, cache: Any) -> Array:
        """The layer without checks; what goes into the cache counts once the pass commits."""
        given, transaction = forward_pass.given, forward_pass.transaction
        keep = None if given is None else np.broadcast_to(given >= 0, x.shape[:2])
        held = Held(None, None) if cache is None else cache._held(transaction)
        (q, k, v), tail = self._mixed(x, held.tail, keep)
        rule: dict[str, Any] = {"scale": self.config.scale, "keep": keep, "state": held.state}
        rule["log_decay"], step = self._decay(x, k.dtype)
        if self.config.rule.delta:
            rule["beta"] = self._beta(x, k.dtype)
        form = recurrent_attention if x.shape[1] == 1 else chunked_attention
        written = v if step is None else v * step[..., None]
        read, state = form(q, k, written, **rule, return_state=True)
        if step is not None:
            read = read + self.D[:, None, None] * v
        if cache is not None:
            cache._append(state, tail, given, transaction, x.shape[1])
        return self._leave(x, read, keep)

    def _mixed(
        self, x: Array, tail: Array | None, keep: Array | None
    ) -> tuple[tuple[Array, Array, Array], Array]:
        """Queries, keys and values by heads in float32 or wider; the convolution's next tail."""
        config = self.config
        parts = [layer._run(x) for layer in (self.q_proj, self.k_proj, self.v_proj)]
        mixed = np.concatenate(parts, axis=2)
        if config.conv_kernel == 1:
            mixed, tail = _activate(mixed, "silu"), mixed[:, :0]
        else:
            conv: dict[str, Any] = {"state": tail, "keep": keep, "activation": "silu"}
            weights = self.conv1d.weight, self.conv1d.bias
            mixed, tail = short_convolution(mixed, *weights, **conv, return_state=True)
        mixed = mixed.astype(np.promote_types(x.dtype, np.float32), copy=False)
        q, k, v = np.split(mixed, (config.key_width, 2 * config.key_width), axis=2)
        q, k = (split(a, config.n_key_heads) for a in (q, k))
        if config.rule.delta:
            q, k = (a / np.sqrt((a * a).sum(-1, keepdims=True) + UNIT_EPS) for a in (q, k))
        q, k = (np.repeat(a, config.group_size, axis=1) for a in (q, k))
        return (q, k, split(v, config.n_heads)), tail

    def _decay(self, x: Array, wide: np.dtype[Any]) -> tuple[Array, Array | None]:
        """Logarithms of what is left of the state; Mamba-2's steps (batch, n_heads, q_len)."""
        config, (batch, q_len) = self.config, x.shape[:2]
        if config.rule.decay == "constant":
            rates = np.array(config.decay, wide)[:, None]
            return np.broadcast_to(-rates, (batch, config.n_heads, q_len)), None
        rates = np.exp(self.A_log.astype(wide))
        if config.rule.decay == "channel":
            drawn = self.f_b_proj._run(self.f_a_proj._run(x))
            steps = np.logaddexp(drawn.astype(wide) + self.dt_bias, 0)
            return -rates[:, None, None] * split(steps, config.n_heads), None
        steps = np.logaddexp(self.a_proj._run(x).astype(wide) + self.dt_bias, 0).swapaxes(1, 2)
        return -rates[:, None] * steps, steps if config.kind == "mamba2" else None

    def _beta(self, x: Array, wide: np.dtype[Any]) -> Array:
        """Return how much of what is under a key its value replaces, (batch, n_heads, q_len)."""
        asked = self.b_proj._run(x).astype(wide)
        most = 2 if self.config.negative_eigenvalues else 1
        return np.asarray(opened(np.full_like(asked, most), asked).swapaxes(1, 2))

    def _leave(self, x: Array, read: Array, keep: Array | None) -> Array:
        """Return the layer's answer from what the heads have read (batch, n_heads, q_len, …)."""
        narrow = self.config.gate_rank is not None
        gate = self.g_b_proj._run(self.g_a_proj._run(x)) if narrow else self.g_proj._run(x)
        gate = gate.astype(read.dtype, copy=False)
        opens = np.ones_like(gate) if self.config.rule.gate == "sigmoid" else gate
        factor = opened(opens, gate)  # the sigmoid, or silu = x * sigmoid(x)
        merged = merge(read)
        if self.config.kind == "mamba2":
            merged = self._normed(merged * factor)
        else:
            merged = self._normed(merged) * factor
        if keep is not None:
            merged = np.where(keep[..., None], merged, 0)
        return self.o_proj._run(merged.astype(x.dtype, copy=False))

    def _normed(self, merged: Array) -> Array:
        """Heads side by side (batch, q_len, n_heads * v_head_dim), normalized in parts."""
        config, weight = self.config, self.o_norm.weight
        if config.norm_over == "width":
            return normalise_rms(merged, weight, config.eps)
        parts = config.n_heads if config.norm_over == "head" else config.n_key_heads
        cut = merged.reshape(*merged.shape[:2], parts, -1)
        if config.norm_over == "head":
            return normalise_rms(cut, weight, config.eps).reshape(merged.shape)
        return normalise_rms(cut, 1.0, config.eps).reshape(merged.shape) * weight
