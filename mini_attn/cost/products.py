"""One product of two matrices: its FLOPs, and the numbers that it moves, whole or in tiles."""

from __future__ import annotations

from mini_attn.shapes import check_count

__all__ = ["product_bytes", "product_flops", "product_traffic"]


def product_flops(m: int, k: int, n: int) -> int:
    """Work of a product of ``(m, k)`` and ``(k, n)``.

    ``flops = 2 * m * k * n``

    Parameters
    ----------
    m, k, n : int
        Rows of the left matrix, contracted size, columns of the right one.

    Returns
    -------
    int
        FLOPs; each of the ``m * k * n`` multiply-adds counts as 2.

    Raises
    ------
    ConfigError
        If a size is below 1.

    Notes
    -----
    Counted to the last addition there are ``m * n * k`` multiplications and
    ``m * n * (k - 1)`` additions, ``m * n`` FLOPs fewer.

    Examples
    --------
    >>> product_flops(4, 8, 4)
    256
    """
    return 2 * check_count("m", m) * check_count("k", k) * check_count("n", n)


def product_traffic(m: int, k: int, n: int, *, tile: int | None = None) -> tuple[int, int, int]:
    """Numbers that a product moves between the main memory and a small fast one.

    ``m * k * ceil(n / tile), k * n * ceil(m / tile), m * n``

    Parameters
    ----------
    m, k, n : int
        Rows of the left matrix, contracted size, columns of the right one.
    tile : int or None
        Side of the square tiles, one of each matrix, that the fast memory holds; 1 holds single
        numbers. None means that everything fits, and each number moves once.

    Returns
    -------
    tuple of int
        Numbers read of the left matrix, read of the right one, and written.

    Raises
    ------
    ConfigError
        If a size is below 1.

    Notes
    -----
    A tile of the result stays until it is complete, so that it is written once and never read.
    Tiles at the edges may be smaller.

    References
    ----------
    goto2008anatomy, section 4

    Examples
    --------
    >>> product_traffic(4, 8, 4), product_traffic(4, 8, 4, tile=1)
    ((32, 32, 16), (128, 128, 16))
    """
    for name, size in (("m", m), ("k", k), ("n", n)):
        check_count(name, size)
    if tile is None:
        return m * k, k * n, m * n
    check_count("tile", tile)
    return m * k * -(-n // tile), k * n * -(-m // tile), m * n


def product_bytes(m: int, k: int, n: int, *, dtype_bytes: int, tile: int | None = None) -> int:
    """Bytes that a product moves: its two operands read, its result written.

    ``bytes = dtype_bytes * (m * k * ceil(n / tile) + k * n * ceil(m / tile) + m * n)``

    Parameters
    ----------
    m, k, n : int
        Rows of the left matrix, contracted size, columns of the right one.
    dtype_bytes : int
        Bytes of a number.
    tile : int or None
        Side of the tiles in fast memory; None means that each number moves once.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    ConfigError
        If a size is below 1.

    References
    ----------
    goto2008anatomy, section 4

    Examples
    --------
    >>> product_bytes(4, 8, 4, dtype_bytes=4)
    320
    """
    return check_count("dtype_bytes", dtype_bytes) * sum(product_traffic(m, k, n, tile=tile))
