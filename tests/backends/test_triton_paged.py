"""The kernel over tables of blocks: interpreted, on a GPU if there is one, compiled for GPUs."""

from __future__ import annotations

import pytest

from tests.backends.devices import DEVICES, cases_hold, python

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("device", DEVICES)
def test_the_kernel_follows_the_table(device):
    cases_hold("paged_cases.py", device)


COMPILE = """
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from mini_attn.torch.kernels import _triton
from mini_attn.torch.kernels._triton_paged import paged_kernel as kernel

def build(dtype, rows, width, size, arch, shared):
    kind = {torch.bfloat16: "bf16", torch.float32: "fp32"}[dtype]
    tile = _triton._tile(rows, width, dtype, shared)
    options = {n: tile.pop(n) for n in ("num_warps", "num_stages")}
    fixed = dict(WINDOW=True, SOFTCAP=False, WIDE=False, GROUP=4, SIZE=size, WIDTH=width,
                 V_WIDTH=width, BLOCK_D=width, BLOCK_V=width, **tile)
    types = dict.fromkeys(("q", "k", "v", "out"), "*" + kind) | {"lse": "*fp32"}
    types |= dict.fromkeys(("table", "lengths"), "*i64") | {"table_step": "i32", "window": "i32"}
    types |= {"q_steps": ("i32",) * 3, "sizes": ("i32",) * 5, "factors": ("fp32",) * 2}
    names = kernel.arg_names
    types = {n: "constexpr" if n in fixed else types[n] for n in names}
    constants = {(names.index(n),): value for n, value in fixed.items()}
    built = triton.compile(
        ASTSource(kernel, types, constants), target=GPUTarget("cuda", arch, 32), options=options
    )
    assert built.asm["cubin"]
    assert built.metadata.shared <= shared, (built.metadata.shared, shared)

build(torch.bfloat16, 4, 128, 16, 90, 227 * 1024)
build(torch.float32, 4, 64, 16, 89, 99 * 1024)
print("built")
"""


@pytest.mark.gpu
def test_the_kernel_compiles_for_gpus(tmp_path):
    """To machine code, with no GPU at hand: the interpreter accepts more than the compiler."""
    fresh = {"TRITON_CACHE_DIR": str(tmp_path), "TRITON_DEFAULT_FP_FUSION": "1"}
    done = python("-c", COMPILE, TRITON_INTERPRET="0", **fresh)
    assert done.stdout.strip() == "built", done.stderr[-3000:]
