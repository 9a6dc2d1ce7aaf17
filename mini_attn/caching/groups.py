"""Groups of tokens that are sealed into codes once they are no longer among the newest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from mini_attn.caching.filled import Filled
from mini_attn.caching.slots import Slots
from mini_attn.config import Coding, FloatCoding, codings, fixed_scales, newest, scale_type
from mini_attn.errors import CacheStateError, ConfigError
from mini_attn.shapes import DType, check_choice, check_count

__all__ = ["Groups", "Sealed"]

Tile = tuple[slice, Callable[[], tuple[Any, Any]]]  # slots, and how to read them


@dataclass(slots=True)
class Sealed(Filled):
    """The state of a quantized cache."""

    sealed: int = 0  # tokens that are codes; the rest is as it came


class Groups(Slots):
    """The integers of a cache that keeps its newest tokens and seals the others in groups."""

    _shown = (*Slots._shown, "k_bits", "v_bits", "group_size", "residual")
    _codings: tuple[Coding | FloatCoding, Coding | FloatCoding]  # of keys, of values

    def _plan(
        self,
        capacity: int,
        widths: tuple[int, int],
        residual: int | None,
        *,
        scale_dtype: DType | None,
        format: str | None,
        dtype: DType,
        **options: Any,
    ) -> tuple[int, int]:
        """Check and keep the options; slots of all tokens, and those of the residual."""
        self._codings = keys, values = codings(widths, format=format, **options)
        slots, size = check_count("capacity", capacity), keys.group_size
        self.k_bits, self.v_bits, self.key_axis = keys.bits, values.bits, keys.axis
        self.bits = keys.bits if keys.bits == values.bits else None
        self.scale_dtype, self.format = scale_type(scale_dtype, dtype, format), format
        self.group_size, self.residual = size, newest(residual, format)
        self._groups = max(0, slots - self.residual) // size
        return slots, max(1, min(slots, self.residual + size - 1))

    def _plan_numbers(self, n_kv_heads: int, rotation: str | None, **scales: Any) -> None:
        """Check and keep what is done to numbers before they are rounded."""
        if rotation is not None:
            check_choice("rotation", rotation, ("hadamard",))
            for coding in self._codings:
                if coding.width & (coding.width - 1):
                    raise ConfigError(
                        f"a Hadamard rotation needs a head_dim and a v_head_dim that are powers "
                        f"of 2, got {coding.width}"
                    )
        given = [name for name, scale in scales.items() if scale is not None]
        if given and self.format is None:
            raise ConfigError(f"{' and '.join(given)} go with a format: groups have their own")
        n_kv_heads, self.rotation = check_count("n_kv_heads", n_kv_heads), rotation
        self.k_scale, self.v_scale = (
            None if self.format is None else fixed_scales(name, scale, n_kv_heads)
            for name, scale in scales.items()
        )

    def _fill(self, state: Any) -> dict[str, Any]:
        chosen = {"format": self.format, "rotation": self.rotation}
        told = {name: option for name, option in chosen.items() if option is not None}
        return {**super()._fill(state), "sealed": state.sealed, **told}

    @property
    def sealed(self) -> int:
        """Tokens that are kept as codes."""
        return self._sealed_state.sealed

    @property
    def _sealed_state(self) -> Sealed:
        state = self._state
        assert isinstance(state, Sealed)
        return state

    @property
    def used_bytes(self) -> int:
        """Bytes of the groups that are sealed and of the residual's filled slots."""
        state = self._sealed_state
        groups, kept = state.sealed // self.group_size, state.slots - state.sealed
        filled = (kept, kept, *(groups,) * (len(state.arrays) - 2))
        return sum(a[:, :, :n].nbytes for a, n in zip(state.arrays, filled, strict=True))

    def _parts(self, state: Any, groups: slice) -> list[tuple[str, Any, list[Any]]]:
        """Of keys and of values: codes, scales and zeros of some groups."""
        arrays = [array[:, :, groups] for array in state.arrays[2:]]
        keys, values = self._codings
        half = len(arrays) // 2
        return [("k", keys, arrays[:half]), ("v", values, arrays[half:])]

    def _to_seal(self, state: Sealed, slots: int) -> int:
        """Groups that are no longer among the newest once so many slots are filled."""
        return max(0, slots - state.sealed - self.residual) // self.group_size

    def _tiles(self, state: Any, block_k: int) -> Iterator[Tile]:
        """A few groups at a time, then the newest tokens as they came."""
        step, size = max(1, block_k // self.group_size), self.group_size
        for first in range(0, state.sealed // size, step):
            groups = slice(first, min(first + step, state.sealed // size))
            columns = slice(groups.start * size, groups.stop * size)
            yield columns, lambda at=groups: self._decoded(state, at)  # type: ignore[misc]
        for first in range(state.sealed, state.slots, block_k):
            columns = slice(first, min(first + block_k, state.slots))
            kept = slice(first - state.sealed, columns.stop - state.sealed)
            yield columns, lambda at=kept: self._newest(state, at)  # type: ignore[misc]

    def _newest(self, state: Any, at: slice) -> tuple[Any, Any]:
        """Keys and values of some tokens that came last, as those from codes lie."""
        k, v = (self._turned(array[:, :, at]) for array in state.arrays[:2])
        return k, v

    def _turned(self, x: Any) -> Any:
        """Rotated numbers, or what was rotated turned back: the rotation is its own inverse."""
        raise NotImplementedError

    def _decoded(self, state: Any, groups: slice) -> tuple[Any, Any]:
        """Keys and values of some groups, made anew from their codes."""
        raise NotImplementedError

    def _crop(self, state: Any, n: int) -> None:
        before = self._cell[0][0]
        assert isinstance(before, Sealed)
        if before.sealed < state.sealed and before.sealed <= n <= before.slots:
            state = before  # the latest append is taken back: what it has sealed is still there
        if not n or self.group_size == 1:  # no group is cut
            state = replace(state, sealed=min(n, state.sealed))
        if n < state.sealed:
            raise CacheStateError(
                f"cannot keep {n} of {state.slots} slots: the first {state.sealed} are sealed"
            )
        self._set(self._shortened(state, n))
