"""The attention kernels: interpreted, on a GPU if there is one, compiled for GPUs, left alone."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from mini_attn.torch.kernels import _triton
from tests.backends.devices import DEVICES, cases_hold, python

pytestmark = pytest.mark.slow


# One process for the sample that `make test` runs, one for all that `make test-all` does.
@pytest.mark.parametrize(
    "which", ["not exhaustive", pytest.param("exhaustive", marks=pytest.mark.exhaustive)]
)
@pytest.mark.parametrize("device", DEVICES)
def test_the_kernels_are_attention(device, which):
    cases_hold("kernel_cases.py", device, which)


WITHOUT = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "triton":
            raise ImportError(name)
from importlib import util
found = util.find_spec
util.find_spec = lambda name, package=None: None if name == "triton" else found(name, package)
sys.meta_path.insert(0, Blocked())
import torch, mini_attn.torch as mt
from mini_attn.torch.kernels import _triton
assert not _triton.HAS_TRITON
q = torch.ones(1, 2, 3, 4)
out, lse = mt.online_attention(q, q, q, causal=True)
assert torch.allclose(out, mt.scaled_dot_product_attention(q, q, q, causal=True))
on_device = type("Array", (), {"device": torch.device("cuda"), "dtype": torch.float16})()
assert _triton.takes(on_device, on_device, on_device) is False
"""


def test_without_triton_everything_is_as_before():
    done = python("-c", WITHOUT, TRITON_INTERPRET="1")
    assert done.returncode == 0, done.stderr[-2000:]


def test_importing_the_package_does_not_import_triton():
    """Only the first array that a kernel takes does; PyTorch itself may look for it."""
    code = "import sys, torch\nbefore = set(sys.modules)\nimport mini_attn.torch\n"
    code += "print(sorted(n for n in set(sys.modules) - before if n.startswith('triton')))"
    done = python("-c", code, TRITON_INTERPRET="0")
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


class Array:
    """What the choice looks at, on a device that is not there."""

    def __init__(self, shape=(1, 8, 1, 128), dtype=torch.bfloat16, grad=False, step=1):
        self.device, self.dtype, self.shape = torch.device("cuda", 0), dtype, shape
        self.requires_grad, self.step = grad, step

    def stride(self, axis):
        return self.step


@pytest.mark.parametrize(
    ("other", "generation", "taken"),
    [
        ({}, 9, True),
        ({}, 8, True),
        ({}, 7, False),
        ({"dtype": torch.float32}, 9, True),
        ({"dtype": torch.float64}, 9, False),
        ({"grad": True}, 9, False),
        ({"step": 2}, 9, False),
        ({"shape": (1, 8, 1, 256)}, 9, True),
        ({"shape": (1, 8, 1, 257)}, 9, False),
        ({"shape": (1, 8, 0, 128)}, 9, False),
    ],
)
def test_which_arrays_the_kernels_take(monkeypatch, other, generation, taken):
    found = SimpleNamespace(major=generation)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: found)
    array = Array(**other)
    assert _triton.takes(array, array, array) is taken


def test_arrays_of_a_cpu_are_left_alone():
    q = torch.ones(1, 2, 1, 4)
    assert not _triton.takes(q, q, q)


# What devices of one generation each offer: multiprocessors and bytes of shared memory.
GPUS = {"A100": (108, 163 * 1024), "RTX 4090": (128, 99 * 1024), "H200": (132, 227 * 1024)}


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("dtype", _triton.DTYPES, ids=str)
@pytest.mark.parametrize("width", [1, 64, 80, 128, 192, 256])
@pytest.mark.parametrize("rows", [1, 4, 17, 64, 65, 16384])
def test_tiles_fit_the_device(gpu, dtype, width, rows):
    tile = _triton._tile(rows, width, dtype, GPUS[gpu][1])
    block_q, block_k = tile["BLOCK_Q"], tile["BLOCK_K"]
    assert block_q >= min(rows, 16)
    for block in (block_q, block_k):
        assert block >= 16
        assert block & (block - 1) == 0
    held = (block_q + 2 * tile["num_stages"] * block_k) * max(16, width) * dtype.itemsize
    assert held <= GPUS[gpu][1]


@pytest.mark.parametrize("kv_len", [1, 255, 8192, 131072])
@pytest.mark.parametrize("programs", [1, 8, 128, 4096])
def test_spans_cover_all_keys_and_keep_the_device_busy(kv_len, programs):
    tile = _triton._tile(4, 128, torch.bfloat16, 227 * 1024)
    span = _triton._span(kv_len, programs, tile, 0, 132)
    n_spans = -(-kv_len // span)
    assert span % tile["BLOCK_K"] == 0
    assert (n_spans - 1) * span < kv_len <= n_spans * span
    assert n_spans == 1 or span >= _triton.SHORTEST_SPAN
    assert programs * n_spans >= 132 or span == _triton.SHORTEST_SPAN or n_spans == 1
    for asked in (1, 3, 7):
        assert -(-kv_len // _triton._span(kv_len, programs, tile, asked, 132)) <= asked


COMPILE = """
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from mini_attn.torch.kernels import _triton
from mini_attn.torch.kernels._triton_attention import attention_kernel as kernel, merge_kernel

def build(kernel, types, fixed, arch, **options):
    names = kernel.arg_names
    types = {n: "constexpr" if n in fixed else types[n] for n in names}
    constants = {(names.index(n),): value for n, value in fixed.items()}
    source = ASTSource(kernel, types, constants)
    built = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
    assert built.asm["cubin"]
    return built

def attention(dtype, rows, width, placed, window, arch, shared):
    kind = {torch.bfloat16: "bf16", torch.float32: "fp32"}[dtype]
    tile = _triton._tile(rows, width, dtype, shared)
    options = {n: tile.pop(n) for n in ("num_warps", "num_stages")}
    fixed = dict(CAUSAL=True, WINDOW=window, SOFTCAP=False, PLACED=placed, WIDE=False, GROUP=4,
                 WIDTH=width, V_WIDTH=width, BLOCK_D=width, BLOCK_V=width, **tile)
    if not placed:
        fixed |= {"q_places": None, "kv_places": None}
    types = dict.fromkeys("qkv", "*" + kind) | {"out": "*" + kind, "lse": "*fp32"}
    types |= dict.fromkeys(("q_places", "kv_places"), "*i64") | {"window": "i32"}
    types |= dict.fromkeys(("q_steps", "k_steps", "v_steps"), ("i32",) * 3)
    types |= {"place_steps": ("i32",) * 2, "sizes": ("i32",) * 7, "factors": ("fp32",) * 2}
    built = build(kernel, types, fixed, arch, **options)
    assert built.metadata.shared <= shared, (built.metadata.shared, shared)
    return built.asm["ptx"]

H200, RTX = (90, 227 * 1024), (89, 99 * 1024)
half, full = torch.bfloat16, torch.float32
assert "wgmma" in attention(half, 4096, 128, False, True, *H200)  # its matrix units
assert "mma" in attention(half, 4, 128, True, False, *H200)
attention(half, 4096, 256, False, False, *RTX)
attention(full, 4, 64, False, False, *RTX)
merge = dict.fromkeys(("parts", "part_sums", "lse"), "*fp32")
merge |= {"out": "*bf16", "n_rows": "i32", "n_spans": "i32"}
build(merge_kernel, merge, {"V_WIDTH": 128, "BLOCK_V": 128, "BLOCK_S": 16}, 90)
print("built")
"""


@pytest.mark.exhaustive
@pytest.mark.gpu
def test_the_kernels_compile_for_gpus(tmp_path):
    """To machine code, with no GPU at hand: the interpreter accepts more than the compiler."""
    fresh = {"TRITON_CACHE_DIR": str(tmp_path), "TRITON_DEFAULT_FP_FUSION": "1"}
    done = python("-c", COMPILE, TRITON_INTERPRET="0", **fresh)
    assert done.stdout.strip() == "built", done.stderr[-3000:]
