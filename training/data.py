"""Rows to learn from, made once from a seed and kept on disk while they are needed."""

from __future__ import annotations

import os
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.stories import sample_rows

__all__ = ["BLOCK", "Rows"]

BLOCK = 512  # rows that are made and kept together


class Rows:
    """Rows of tokens by their number: the same ones for the same seed, whoever asks and when."""

    def __init__(self, length: int, seed: int, kept: Path | None = None) -> None:
        self.length, self.seed, self.kept = length, seed, kept
        language = sha256(sample_rows(16, length, seed=0).tobytes()).hexdigest()[:8]
        self.name = f"{language}-{length}-{seed}"  # rows of another language are not taken for ours
        self._number, self._block = -1, np.empty((0, length), np.int64)

    def take(self, first: int, count: int) -> NDArray[Any]:
        """Rows (count, length) from number ``first`` on."""
        numbers = range(first, first + count)
        return np.stack([self._of(n // BLOCK)[n % BLOCK] for n in numbers])

    def _of(self, number: int) -> NDArray[Any]:
        """A block of rows, from the disk where it has been made before."""
        if number != self._number:
            self._block = self._read(number)
            self._number = number
        return self._block

    def _read(self, number: int) -> NDArray[Any]:
        if self.kept is None:
            return self._made(number)
        path = self.kept / f"{self.name}-{number}.npy"
        if path.exists():
            return np.asarray(np.load(path), np.int64)
        rows = self._made(number)
        self.kept.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.kept, delete=False) as file:
            np.save(file, rows.astype(np.uint8))
        os.replace(file.name, path)
        return rows

    def _made(self, number: int) -> NDArray[Any]:
        return sample_rows(BLOCK, self.length, seed=self.seed * 1_000_003 + number)
