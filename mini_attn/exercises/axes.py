"""What a wrong shape shows about the axes of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import prod

__all__ = ["Misfit", "ideas_of_shape"]

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Misfit:
    """An output next to the shape that it should have.

    Parameters
    ----------
    name : str
        Of the output.
    wanted, got : tuple of int
        The shape that is asked for, and the one that came.
    """

    name: str
    wanted: Shape
    got: Shape

    def __str__(self) -> str:
        return f"{self.name} should have shape {self.wanted}; it has {self.got}."


def _exchanged(wanted: Shape) -> Iterator[tuple[Shape, str]]:
    """Axes in another order."""
    for i, j in combinations(range(len(wanted)), 2):
        shape = list(wanted)
        shape[i], shape[j] = shape[j], shape[i]
        both = "The two axes" if len(wanted) == 2 else f"Axes {i} and {j}"
        yield tuple(shape), f"{both} are exchanged."
    yield wanted[::-1], "The axes stand in reverse order: .T turns all of them round."


def _one_off(wanted: Shape) -> Iterator[tuple[Shape, str]]:
    """An axis too few, too many or too small."""
    for i in range(len(wanted) + 1):
        before, after = wanted[:i], wanted[i:]
        left = f"Axis {i} has size 1 and is left over, as keepdims=True or None leaves it."
        yield (*before, 1, *after), left
    for i in range(len(wanted)):
        before, after = wanted[:i], wanted[i + 1 :]
        missing = f"Axis {i} is missing: was it summed over, or only one entry of it kept?"
        yield before + after, missing
        yield (*before, 1, *after), f"Axis {i} was reduced to one entry: it should keep them all."


def _reshaped(misfit: Misfit) -> Iterator[tuple[Shape, str]]:
    """Axes that were made one, or not made one."""
    wanted, got = misfit.wanted, misfit.got
    for i in range(len(wanted) - 1):
        one = (*wanted[:i], wanted[i] * wanted[i + 1], *wanted[i + 2 :])
        yield one, f"Axes {i} and {i + 1} have become one: they should stay apart."
    for i in range(len(wanted)):
        if len(got) == len(wanted) + 1 and got[i] * got[i + 1] == wanted[i]:
            split = (*wanted[:i], *got[i : i + 2], *wanted[i + 1 :])
            yield split, f"Axes {i} and {i + 1} should become one, by a reshape."
    yield (prod(wanted),), "All axes have become one: they should stay apart."
    yield (), "All axes are gone: a sum or a maximum without axis takes everything together."


def ideas_of_shape(misfit: Misfit) -> list[str]:
    """Return what may have happened to the axes; nothing that is known of one case alone.

    Parameters
    ----------
    misfit : Misfit
        The two shapes; they may be the same, where a mistake would not be seen.

    Returns
    -------
    list of str
        The simplest first.

    Examples
    --------
    >>> ideas_of_shape(Misfit("out", (3, 5), (5, 3)))[0]
    'The two axes are exchanged.'
    >>> ideas_of_shape(Misfit("out", (3,), (3, 1)))[0]
    'Axis 1 has size 1 and is left over, as keepdims=True or None leaves it.'
    """
    ways = [*_exchanged(misfit.wanted), *_one_off(misfit.wanted), *_reshaped(misfit)]
    return [idea for shape, idea in ways if shape == misfit.got]
