"""The kernel of absorbed latent attention: interpreted, compiled for GPUs, and left alone."""

from __future__ import annotations

import sys

import pytest
import torch

from mini_attn.torch.attention import _latent_attention
from mini_attn.torch.attention._visibility import Visibility
from tests.backends.devices import DEVICES, cases_hold

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("device", DEVICES)
def test_the_kernel_is_latent_attention(device):
    cases_hold("latent_cases.py", device)


def test_the_kernel_is_left_alone_where_it_cannot_run(monkeypatch):
    here = torch.ones(1, 2, 4)
    assert _latent_attention._kernel(here, here, here) is None  # no GPU

    class OnDevice:
        is_cuda, requires_grad, shape = True, False, (1, 2, 512)

        def element_size(self):
            return 2

    from mini_attn.torch import kernels
    from mini_attn.torch.kernels import _triton_latent

    there = OnDevice()
    assert _latent_attention._kernel(there, there, there) is _triton_latent
    for name, value in (("requires_grad", True), ("shape", (1, 2, 513)), ("is_cuda", False)):
        other = OnDevice()
        setattr(other, name, value)
        assert _latent_attention._kernel(there, there, other) is None
    wide = OnDevice()
    wide.element_size = lambda: 8
    assert _latent_attention._kernel(there, there, wide) is None
    monkeypatch.setitem(sys.modules, _triton_latent.__name__, None)
    monkeypatch.delattr(kernels, "_triton_latent")
    assert _latent_attention._kernel(there, there, there) is None  # no Triton


def test_a_device_with_too_little_memory_takes_the_other_way(monkeypatch):
    from mini_attn.torch.kernels import _triton_latent

    def refuse(*arguments, **options):
        raise _triton_latent.OutOfResources(100_000, 65_536, "shared memory")

    q, q_rope = torch.randn(1, 2, 1, 8), torch.randn(1, 2, 1, 4)
    latent, rope_key = torch.randn(1, 9, 8), torch.randn(1, 9, 4)
    everything = Visibility(1, 9, q.device)
    expected = _latent_attention.attend_latents(q, q_rope, latent, rope_key, everything, 0.3)
    monkeypatch.setattr(_triton_latent, "attend", refuse)
    monkeypatch.setattr(_latent_attention, "_kernel", lambda *arrays: _triton_latent)
    got = _latent_attention.attend_latents(q, q_rope, latent, rope_key, everything, 0.3)
    assert torch.equal(got, expected)


@pytest.mark.gpu
@pytest.mark.parametrize("placed", [False, True])
@pytest.mark.parametrize(("kind", "rows", "tokens", "stages"), [("bf16", 16, 32, 3),
                         ("fp16", 32, 32, 2), ("fp32", 16, 16, 2)])  # fmt: skip
def test_the_kernel_compiles_for_gpus(monkeypatch, placed, kind, rows, tokens, stages):
    """To machine code, with no GPU at hand; the interpreter accepts more than the compiler."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from mini_attn.torch.kernels._triton_latent import latent_kernel

    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # as it is; unset, it warns
    fixed = {"PLACED": placed, "WIDE": False, "RANK": 512, "ROPE": 64}
    fixed |= {"BLOCK_M": rows, "BLOCK_N": tokens, "BLOCK_R": 512, "BLOCK_P": 64}
    arrays = dict.fromkeys(("q", "q_rope", "latent", "rope_key"), kind) | {"out": "fp32"}
    arrays |= {"lse": "fp32", "q_places": "i64", "kv_places": "i64"}
    names = latent_kernel.arg_names
    types = {n: "constexpr" if n in fixed else f"*{arrays[n]}" if n in arrays else "i32"
             for n in names} | {"scale": "fp32"}  # fmt: skip
    source = ASTSource(latent_kernel, types, {(names.index(n),): v for n, v in fixed.items()})
    options = {"num_warps": rows // 4, "num_stages": stages}
    built = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    assert built.asm["cubin"]
    assert built.metadata.shared <= 99 * 1024  # what a program may have on the smaller devices too
