"""What a layer with a state costs: its three forms in FLOPs, and the bytes that it keeps."""

from __future__ import annotations

from mini_attn.cost.work import attention_flops
from mini_attn.shapes import check_choice, check_count, check_flag

__all__ = ["recurrence_crossover", "recurrence_flops", "state_bytes"]


def recurrence_flops(
    seq: int,
    *,
    n_heads: int,
    key_dim: int,
    v_head_dim: int | None = None,
    form: str = "chunked",
    chunk: int = 64,
    delta_rule: bool = False,
    per_channel: bool = False,
    causal: str = "full",
    return_state: bool = False,
) -> dict[str, int]:
    """FLOPs of the products of one layer with a state, for tokens that come together.

    ``read, write: 2 * n_heads * seq * key_dim * v_head_dim each;  in a chunk of n tokens
    pairs: 2 * n_heads * key_dim * n * n;  weighted sum: 2 * n_heads * v_head_dim * n * n;
    solve: n_heads * v_head_dim * n * (n - 1)``

    Parameters
    ----------
    seq : int
        Tokens.
    n_heads, key_dim : int
        Heads, size of a query and a key.
    v_head_dim : int or None
        Size of a value; None means ``key_dim``.
    form : {"recurrent", "chunked", "parallel"}
        Step by step, by chunks, or all tokens as one chunk.
    chunk : int
        Tokens of a chunk; the last may be shorter. Only the chunked form reads it.
    delta_rule : bool
        Whether what is found under a key is replaced: a second read, and in a chunk the pairs of
        keys and a triangular system.
    per_channel : bool
        Whether each channel of the keys has a decay of its own. Pairs are then found half by half,
        which never computes a hidden one.
    causal : {"full", "exact"}
        Whether all pairs that are computed count, or only those that are visible.
    return_state : bool
        Whether the state after the last token is needed; if not, the last chunk doesn't write it.

    Returns
    -------
    dict
        ``pairs``, ``weighted sum``, ``solve``, ``read`` and ``write``.

    Raises
    ------
    ConfigError
        If a count is below 1, or an option is unknown.

    Notes
    -----
    With ``"full"`` equal to a count of the products that NumPy's functions make. The decays, which
    are elementwise, don't count. A step costs the same after any number of tokens; a step of
    attention costs more with each.

    References
    ----------
    yang2024deltanet, section 3
    dao2024mamba2, section 6

    Examples
    --------
    >>> recurrence_flops(1, n_heads=1, key_dim=128, form="recurrent")["read"]
    32768
    >>> sum(recurrence_flops(1024, n_heads=1, key_dim=128, causal="exact").values())
    82051072
    """
    check_choice("form", form, ("recurrent", "chunked", "parallel"))
    check_choice("causal", causal, ("full", "exact"))
    flags = {"delta_rule": delta_rule, "per_channel": per_channel, "return_state": return_state}
    for name, flag in flags.items():
        check_flag(name, flag)
    counts = {"seq": seq, "n_heads": n_heads, "key_dim": key_dim, "chunk": chunk}
    for name, count in counts.items():
        check_count(name, count)
    width = key_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)
    reads = seq * (2 if delta_rule else 1)
    if form == "recurrent":
        found = {"pairs": 0, "weighted sum": 0, "solve": 0, "read": reads, "write": seq}
    else:
        length = seq if form == "parallel" else min(chunk, seq)
        whole, rest = divmod(seq, length)
        lengths = {length: whole, rest: 1} if rest else {length: whole}
        below = sum(n * (n - 1) // 2 * many for n, many in lengths.items())
        square = sum(n * n * many for n, many in lengths.items())
        summed = square if causal == "full" else below + seq
        own = below + seq if per_channel or causal == "exact" else square
        others = (own if causal == "full" else below) if delta_rule else 0
        found = {
            "pairs": own + others,
            "weighted sum": summed,
            "solve": below if delta_rule else 0,
            "read": reads,
            "write": seq if return_state else seq - (rest or length),
        }
    sizes = {"pairs": key_dim, "weighted sum": width, "solve": width}
    return {
        name: 2 * n_heads * count * sizes.get(name, key_dim * width)
        for name, count in found.items()
    }


def recurrence_crossover(
    *,
    key_dim: int,
    v_head_dim: int | None = None,
    chunk: int = 64,
    delta_rule: bool = False,
    causal: str = "exact",
) -> int:
    """Count the tokens from which chunks take fewer FLOPs than causal attention.

    ``the first seq such that from there on recurrence_flops(seq) < attention_flops(seq, seq)``

    Parameters
    ----------
    key_dim, v_head_dim, chunk, delta_rule, causal
        As in `recurrence_flops`; attention has heads of the same sizes and pairs counted in the
        same way.

    Returns
    -------
    int
        Tokens of a prompt.

    Raises
    ------
    ConfigError
        If a count is below 1, or an option is unknown.

    Notes
    -----
    Only products count, and only of queries, keys, values and the state: projections,
    convolutions and gates are left out on both sides. Attention's products are larger matrices,
    which a GPU computes at a higher rate.

    References
    ----------
    yang2024deltanet, section 3

    Examples
    --------
    >>> recurrence_crossover(key_dim=128), recurrence_crossover(key_dim=128, delta_rule=True)
    (299, 496)
    """
    width = key_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)

    def saved(seq: int) -> int:
        chunks = recurrence_flops(
            seq,
            n_heads=1,
            key_dim=key_dim,
            v_head_dim=width,
            chunk=chunk,
            delta_rule=delta_rule,
            causal=causal,
        )
        whole = attention_flops(
            seq, seq, n_heads=1, head_dim=key_dim, v_head_dim=width, causal=causal
        )
        return sum(whole.values()) - sum(chunks.values())

    saved(1)  # checks every size
    # A token of a chunk takes at most this many multiply-adds, in attention half its keys.
    most = 2 * chunk * (key_dim + width) + 3 * key_dim * width
    seq = 2 * most // (key_dim + width) + 1
    while seq > 0 and saved(seq) > 0:
        seq -= 1
    return seq + 1


def state_bytes(
    *,
    n_heads: int,
    key_dim: int,
    v_head_dim: int | None = None,
    batch: int = 1,
    dtype_bytes: int = 4,
    conv_channels: int = 0,
    conv_width: int = 1,
    conv_dtype_bytes: int = 2,
) -> dict[str, int]:
    """Bytes that one layer with a state keeps, whatever the number of tokens.

    ``state: batch * n_heads * key_dim * v_head_dim * dtype_bytes;
    convolution: batch * conv_channels * (conv_width - 1) * conv_dtype_bytes``

    Parameters
    ----------
    n_heads, key_dim : int
        Heads that have a state of their own, size of a key.
    v_head_dim : int or None
        Size of a value; None means ``key_dim``.
    batch : int
        Sequences.
    dtype_bytes : int
        Bytes of a number of the state; models keep it in float32.
    conv_channels, conv_width : int
        Channels that a short convolution reads, and tokens that it sees; 0 and 1 for none.
    conv_dtype_bytes : int
        Bytes of a number that the convolution keeps.

    Returns
    -------
    dict
        ``state`` and ``convolution``.

    Raises
    ------
    ConfigError
        If a count is below 1, or ``conv_channels`` below 0.

    References
    ----------
    katharopoulos2020linear, section 3.3

    Examples
    --------
    A state has the bytes of the keys and values of 64 tokens, in the same type:

    >>> state_bytes(n_heads=1, key_dim=128, dtype_bytes=2)["state"] // (2 * 128 * 2)
    64
    """
    counts = {
        "n_heads": n_heads, "key_dim": key_dim, "batch": batch, "dtype_bytes": dtype_bytes,
        "conv_width": conv_width, "conv_dtype_bytes": conv_dtype_bytes,
    }  # fmt: skip
    for name, count in counts.items():
        check_count(name, count)
    check_count("conv_channels", conv_channels, least=0)
    width = key_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)
    return {
        "state": batch * n_heads * key_dim * width * dtype_bytes,
        "convolution": batch * conv_channels * (conv_width - 1) * conv_dtype_bytes,
    }
