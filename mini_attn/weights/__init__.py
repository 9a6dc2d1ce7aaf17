"""Weights by name: kept in files, exchanged between backends, read from published checkpoints.

Two lines run a published model whose layout is known, and one more reads its tokenizer::

    config, weights = read_checkpoint("folder", backend="torch")
    model = Decoder(config); model.load_state_dict(weights)
    tokenizer = read_tokenizer("folder")
"""

from typing import TYPE_CHECKING, Any

from mini_attn.weights.checkpoint import from_hf, read_checkpoint
from mini_attn.weights.codes import dequantised
from mini_attn.weights.compressed import compressed_from_hf
from mini_attn.weights.deepseek import from_deepseek
from mini_attn.weights.experts import from_experts
from mini_attn.weights.families import FAMILIES
from mini_attn.weights.files import (
    load_npz,
    load_safetensors,
    read_metadata,
    save_npz,
    save_safetensors,
)
from mini_attn.weights.fused import split_qkv
from mini_attn.weights.gemma import from_gemma, from_gemma4
from mini_attn.weights.gpt2 import from_gpt2
from mini_attn.weights.hf_config import config_from_hf
from mini_attn.weights.hf_model import model_from_hf, unknown_keys
from mini_attn.weights.hybrid import from_hybrid
from mini_attn.weights.llama import from_llama
from mini_attn.weights.state import check_state, to_numpy

if TYPE_CHECKING:
    from mini_attn.tokens import read_tokenizer

__all__ = [
    "FAMILIES",
    "check_state",
    "compressed_from_hf",
    "config_from_hf",
    "dequantised",
    "from_deepseek",
    "from_experts",
    "from_gemma",
    "from_gemma4",
    "from_gpt2",
    "from_hf",
    "from_hybrid",
    "from_llama",
    "load_npz",
    "load_safetensors",
    "model_from_hf",
    "read_checkpoint",
    "read_metadata",
    "read_tokenizer",
    "save_npz",
    "save_safetensors",
    "split_qkv",
    "to_numpy",
    "unknown_keys",
]


def __getattr__(name: str) -> Any:
    """Import `read_tokenizer` when it's asked for: arrays need no tokens."""
    if name != "read_tokenizer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mini_attn.tokens import read_tokenizer

    return read_tokenizer
