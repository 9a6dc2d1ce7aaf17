"""A sample of many cases leaves every kind in, and in every run the same."""

from __future__ import annotations

import pytest

from tests.sampling import sampled

CASES = [(kind, number) for kind in "abcdefgh" for number in range(7)]


def kept(of_each: int = 1) -> list[tuple[str, int]]:
    return [case.values for case in sampled(CASES, lambda case: case[0], of_each) if not case.marks]


@pytest.mark.parametrize("of_each", [1, 2, 3, 7])
def test_so_many_of_each_kind_stay_in(of_each: int) -> None:
    assert [kind for kind, _ in kept(of_each)] == [k for k in "abcdefgh" for _ in range(of_each)]
    assert kept(of_each) == kept(of_each)


def test_it_is_not_always_the_first() -> None:
    assert len({number for _, number in kept()}) > 2


def test_the_others_are_exhaustive_and_stand_in_order() -> None:
    found = sampled("abcabc", str)
    assert [case.values for case in found] == [(letter,) for letter in "abcabc"]
    assert [case.marks for case in found].count(()) == 3
    assert {mark.name for case in found if case.marks for mark in case.marks} == {"exhaustive"}
