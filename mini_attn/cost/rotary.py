"""FLOPs of turning queries or keys, written as a matrix or pair by pair."""

from __future__ import annotations

from mini_attn.shapes import check_choice, check_count

__all__ = ["rotary_flops"]


def rotary_flops(rotary_dim: int, *, rows: int = 1, form: str = "pairs") -> int:
    """Work of a rotary embedding, its table of cosines and sines given.

    ``pairs: 3 * rotary_dim * rows;  matrix: 2 * rotary_dim**2 * rows``

    Parameters
    ----------
    rotary_dim : int
        Numbers of a head that turn.
    rows : int
        Vectors that are turned: tokens times heads, of the queries and of the keys.
    form : {"pairs", "matrix"}
        Two multiplications and an addition for each number, or a product with the whole
        block-diagonal matrix, its zeros included.

    Returns
    -------
    int
        FLOPs.

    Raises
    ------
    ConfigError
        If a count is below 1 or the form is unknown.

    References
    ----------
    su2021roformer, section 3.4.2

    Examples
    --------
    >>> rotary_flops(128), rotary_flops(128, form="matrix")
    (384, 32768)
    """
    check_choice("form", form, ("pairs", "matrix"))
    check_count("rows", rows)
    each = 3 if form == "pairs" else 2 * check_count("rotary_dim", rotary_dim)
    return rows * each * check_count("rotary_dim", rotary_dim)
