"""What a cache holds in bytes, and which layer it has room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mini_attn.caching.filled import Filled
from mini_attn.caching.transaction import Versioned
from mini_attn.errors import DTypeError, ShapeError
from mini_attn.shapes import size_text

__all__ = ["Sizes"]


class Sizes(Versioned):
    """Sizes and bytes of a cache whose state lies in arrays (batch, n_kv_heads, slots, …)."""

    batch: int
    capacity: int | None
    _dtype: Any
    _shown: tuple[str, ...] = ("batch", "n_kv_heads", "head_dim", "v_head_dim")

    if TYPE_CHECKING:  # what its state is

        @property
        def _state(self) -> Filled: ...

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the keys and values of all slots."""
        return sum(array.nbytes for array in self._state.arrays)

    @property
    def used_bytes(self) -> int:
        """Bytes of the keys and values of the slots that are filled."""
        state = self._state
        return sum(array[:, :, : state.slots].nbytes for array in state.arrays)

    def _fill(self, state: Filled) -> dict[str, Any]:
        """Return how full the cache is, for `repr`."""
        bound = "" if self.capacity is None else f"/{self.capacity}"
        return {"slots": f"{state.slots}{bound}"}

    def __repr__(self) -> str:
        sizes = {name: getattr(self, name) for name in self._shown}
        text = size_text({**self._fill(self._peeked), **sizes, "dtype": self._dtype})
        return f"{type(self).__name__}({text})"

    def _check_fits(self, *, batch: int, dtype: Any, **sizes: int) -> None:
        """Refuse what this cache has no room for: another batch, another type, other sizes."""
        if dtype != self._dtype:
            raise DTypeError(f"the cache holds {self._dtype}, the layer works in {dtype}")
        for name, size in {"batch": batch, **sizes}.items():
            if getattr(self, name, None) != size:
                own = getattr(self, name, "none")
                raise ShapeError(f"the cache has {name} = {own}, the layer gives {name} = {size}")
