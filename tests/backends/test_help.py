"""What `help()` and `repr()` of the package's public classes show: what a user needs, no more."""

from __future__ import annotations

import inspect
import pydoc
import re
from typing import Generic, TypeVar

import pytest
import torch

from mini_attn.caching import Blocks, Prefixes, Scheduler, Transaction
from mini_attn.variants import REGISTRY
from tests.backends.test_wrong_kinds import SURFACE, floats, made

State = TypeVar("State")
CLASSES = sorted(name for name, thing in SURFACE.items() if inspect.isclass(thing))
INHERITED = {*dir(object), *dir(torch.nn.Module)}  # what Python and PyTorch bring
TYPING = {"__class_getitem__", "__parameters__", "__orig_bases__"}


def shown(kind):
    """Names of the members that `help()` shows, without what Python and PyTorch bring."""
    listed = inspect.classify_class_attrs(kind)
    names = {entry.name for entry in listed if pydoc.visiblename(entry.name)}
    return {name for name in names - INHERITED if name[0] != "_" or name in TYPING}


def documented(member):
    """Whether a public member's docstring says what it takes or gives back, if there is any."""
    text = inspect.getdoc(member) or ""
    if isinstance(member, property) or not callable(member):
        return bool(text)
    given = [name for name in inspect.signature(member).parameters if name != "self"]
    return all(part in text for part in ("Parameters\n---",) if given) and bool(text)


@pytest.mark.parametrize("name", CLASSES)
def test_help_shows_members_that_are_for_users(name, lib):
    kind = getattr(lib.module, name)
    for member in sorted(shown(kind)):
        assert member not in TYPING
        found = inspect.getattr_static(kind, member)
        if callable(found) or isinstance(found, property):
            assert documented(found), member


def test_internals_would_be_found():
    class Leaky(Generic[State]):
        def step(self, state):
            """Do a step."""

    assert shown(Leaky) == {"step", *TYPING}
    assert not documented(Leaky.step)


def instance(lib, name):
    """An object of a public class."""
    if name.startswith("Quantized") and name != "QuantizedKVCache":
        return getattr(lib.module, name)(lib.array(floats(2, 4)), "int8")
    return made(lib, name)


def sizes_in(text):
    """Name -> text of the sizes in a repr, nested parts left out."""
    inner = text.partition("(")[2].partition("\n  (")[0]
    return dict(re.findall(r"(\w+)=([^,()\s]+(?:\([^()]*\))?)", inner))


@pytest.mark.parametrize("name", CLASSES)
def test_repr_says_sizes(name, lib):
    thing = instance(lib, name)
    text = repr(thing)
    assert text.startswith(f"{name}(")
    assert " at 0x" not in text
    assert lib.name == "torch" or "\n" not in text
    sizes = sizes_in(text)
    assert len(sizes) >= 3
    assert name == "Server" or sizes["dtype"] == "float32"
    config = getattr(thing, "config", None)
    for key, said in sizes.items():
        held = getattr(thing, key, getattr(config, key, None))
        if isinstance(held, int):
            assert said.partition("/")[0] == str(held), key


def test_the_registrys_layers_and_caches_say_their_sizes(lib):
    for entry in REGISTRY.values():
        layer = entry.layer_class(lib.name)
        assert layer.__name__ in CLASSES
        cache = made(lib, layer.__name__).new_cache(2, 8)
        assert type(cache).__name__ in CLASSES
        assert sizes_in(repr(cache))["batch"] == "2"


def test_layers_say_whether_they_are_causal(lib):
    """Where the function is not: `scaled_dot_product_attention` sees everything by default."""
    for name in CLASSES:
        kind = getattr(lib.module, name)
        call = getattr(kind, "forward" if lib.name == "torch" else "__call__", None)
        takes = call is not None and "causal" in inspect.signature(call).parameters
        assert (sizes_in(repr(instance(lib, name))).get("causal") == "True") == takes, name
        assert not takes or "ausal" in inspect.getdoc(kind), name


def test_a_caches_fill_is_said(lib):
    cache = made(lib, "KVCache")
    cache.append(*(lib.array(floats(1, 4, 3, 2)) for _ in "kv"))
    assert repr(cache).startswith("KVCache(slots=3/8, batch=1, n_kv_heads=4, head_dim=2, dtype=")
    floating = lib.QuantizedKVCache(1, 4, 2, 8, format="fp8", rotation="hadamard")
    floating.append(*(lib.array(floats(1, 4, 3, 2)) for _ in "kv"))
    told = "QuantizedKVCache(slots=3/8, sealed=3, format=fp8, rotation=hadamard, batch=1"
    assert repr(floating).startswith(told)
    pool = made(lib, "BlockPool")
    pages = lib.PagedKVCache(pool, 1)
    pages.append(*(lib.array(floats(1, 4, 3, 2)) for _ in "kv"))
    assert repr(pages).startswith("PagedKVCache(slots=3, n_blocks=2, block_size=2, batch=1")
    assert repr(pool).startswith("BlockPool(n_free=2, n_blocks=4, block_size=2, n_kv_heads=4")


def test_a_value_of_another_size_is_said(lib):
    sizes = sizes_in(repr(lib.KVCache(1, 2, 4, 8, v_head_dim=3)))
    assert (sizes["head_dim"], sizes["v_head_dim"]) == ("4", "3")


def test_looking_at_a_cache_does_not_disturb_a_step(lib):
    """A debugger shows every local: an unfinished step must still be able to end."""
    cache, transaction = made(lib, "KVCache"), Transaction()
    cache._append(*(lib.array(floats(1, 4, 3, 2)) for _ in "kv"), None, transaction)
    assert "slots=0/8" in repr(cache)
    transaction.commit()
    assert "slots=3/8" in repr(cache)
    pages, transaction = made(lib, "PagedKVCache"), Transaction()
    pages._append(*(lib.array(floats(1, 4, 3, 2)) for _ in "kv"), None, transaction)
    assert "n_blocks=0" in repr(pages)
    assert "n_free=4" in repr(pages.pool)
    transaction.commit()
    assert "n_blocks=2" in repr(pages)
    assert "n_free=2" in repr(pages.pool)


def test_what_counts_without_arrays_says_its_sizes_too():
    blocks = Blocks(4, block_size=2)
    scheduler = Scheduler(blocks, token_budget=3)
    scheduler.add("a", [3, 1, 4, 1], max_new_tokens=2)
    assert repr(blocks) == "Blocks(n_free=4, n_blocks=4, block_size=2)"
    assert repr(Prefixes(4, 2)) == "Prefixes(known=0/4, block_size=2)"
    step = scheduler.plan()
    waits = "Scheduler(running=0, waiting=1, ended=0, n_free=4, n_blocks=4, block_size=2, "
    assert repr(scheduler) == waits + "token_budget=3)"
    scheduler.finish(step, {})  # it was only looked at
    assert repr(scheduler).startswith("Scheduler(running=1, waiting=0, ended=0, n_free=2")
