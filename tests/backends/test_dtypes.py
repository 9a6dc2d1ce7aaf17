"""A data type is given as a name, as NumPy's type or as PyTorch's, wherever one is taken."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from mini_attn.errors import ConfigError, DTypeError
from mini_attn.shapes import check_dtype
from tests.backends.test_wrong_kinds import SURFACE, call_of, parameters

TAKERS = [n for n in SURFACE if "dtype" in parameters(n)]
ALLOWED = ("float16", "float32", "float64")
FORMS = {
    "a name": str,
    "NumPy's type": lambda name: getattr(np, name),
    "NumPy's dtype": np.dtype,
    "PyTorch's dtype": lambda name: getattr(torch, name),
}
NO_TYPES = [None, 32, 1.5, float, "float", "float8", np.int32, torch.int8, [], ["float32"],
            object(), np.dtype("int64"), np.ones(2), torch.ones(2), np.dtype(">f4")]  # fmt: skip


def types_of(made):
    """Names of the floating-point types in what a call gives, in order."""
    if hasattr(made, "state_dict") and made.state_dict():
        made = list(made.state_dict().values())
    if isinstance(made, np.ndarray | torch.Tensor):
        made = [made]
    if not isinstance(made, list | tuple):
        made = [
            *(a for a in vars(made).values() if hasattr(a, "dtype")),
            getattr(made, "_dtype", ""),
        ]
    names = [str(getattr(array, "dtype", array)).removeprefix("torch.") for array in made]
    return [name for name in names if name.startswith("float")]


def test_many_take_a_data_type():
    assert {"KVCache", "BlockPool", "Decoder", "Linear", "rope_table", "decode_float"} < set(TAKERS)
    assert len(TAKERS) >= 28


@pytest.mark.parametrize("name", TAKERS)
def test_all_four_forms_are_one_type(name, lib):
    for dtype in ("float32", "float64"):
        found = []
        for form in FORMS.values():
            function, arguments = call_of(lib, name)
            found.append(types_of(function(**{**arguments, "dtype": form(dtype)})))
        assert set(found[0]) == {dtype}
        assert found == [found[0]] * len(FORMS)


@pytest.mark.parametrize("name", TAKERS)
def test_what_is_no_data_type_is_refused(name, lib):
    for wrong in NO_TYPES:
        function, arguments = call_of(lib, name)
        with pytest.raises(DTypeError, match=r"dtype must be one of .*float32"):
            function(**{**arguments, "dtype": wrong})


@pytest.mark.parametrize("form", FORMS)
def test_scales_take_all_four_forms_too(form, lib):
    sizes = {"batch": 1, "n_kv_heads": 1, "head_dim": 4, "capacity": 8}
    half, default = FORMS[form]("float16"), FORMS[form]("float64")
    assert lib.QuantizedKVCache(**sizes, scale_dtype=half).scale_dtype == "float16"
    assert lib.QuantizedKVCache(**sizes, dtype=default).scale_dtype == "float64"


@pytest.mark.parametrize("wrong", [32, "int8", np.int32, ["float16"], torch.float64])
def test_scales_of_another_type_are_refused(wrong, lib):
    sizes = {"batch": 1, "n_kv_heads": 1, "head_dim": 4, "capacity": 8}
    with pytest.raises(ConfigError, match="scale_dtype must be one of float32, float16"):
        lib.QuantizedKVCache(**sizes, scale_dtype=wrong)


def test_numpy_says_that_it_has_no_bfloat16(backends):
    numpy, pytorch = backends
    with pytest.raises(DTypeError, match=r"got torch\.bfloat16"):
        numpy.Linear(2, 2, dtype=torch.bfloat16)
    assert pytorch.Linear(2, 2, dtype=torch.bfloat16).weight.dtype == torch.bfloat16


def test_a_type_is_known_without_pytorch():
    code = (
        "import sys; from mini_attn.numpy import Linear; import numpy as np; "
        "assert Linear(2, 2, dtype=np.float64).weight.dtype == np.float64; "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_only_pytorchs_own_types_are_known_by_their_name():
    class Imposter:
        def __str__(self):
            return "torch.float32"

    with pytest.raises(DTypeError, match="must be one of"):
        check_dtype("dtype", Imposter(), ALLOWED)
