"""The living pictures: views of what the package computes, never a second model.

The widgets need the extra ``widgets`` (anywidget); their data and questions do not, so they
are imported only when they are asked for.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mini_attn.widgets.attention_explorer import AttentionExplorer
    from mini_attn.widgets.bits_dial import BitsDial
    from mini_attn.widgets.cache_calculator import CacheCalculator
    from mini_attn.widgets.cost_explorer import CostExplorer
    from mini_attn.widgets.decode_stepper import DecodeStepper
    from mini_attn.widgets.equal_bytes import EqualBytes
    from mini_attn.widgets.first_look import FirstLook
    from mini_attn.widgets.flash_tiles import FlashTiles
    from mini_attn.widgets.head_stepper import HeadStepper
    from mini_attn.widgets.head_wiring import HeadWiring
    from mini_attn.widgets.inside_model import InsideModel
    from mini_attn.widgets.key_budget import KeyBudget
    from mini_attn.widgets.latent_explorer import LatentExplorer
    from mini_attn.widgets.living_plot import LivingPlot
    from mini_attn.widgets.page_pool import PagePool
    from mini_attn.widgets.phase_film import PhaseFilm
    from mini_attn.widgets.position_encodings import PositionEncodings
    from mini_attn.widgets.prediction import Prediction
    from mini_attn.widgets.ring_cache import RingCache
    from mini_attn.widgets.roofline import Roofline
    from mini_attn.widgets.rope_scaling import RopeScaling
    from mini_attn.widgets.rotor import Rotor
    from mini_attn.widgets.softmax_choice import SoftmaxChoice
    from mini_attn.widgets.softmax_saturation import SoftmaxSaturation
    from mini_attn.widgets.tile_stepper import TileStepper
    from mini_attn.widgets.variant_table import VariantTable

__all__ = [
    "AttentionExplorer",
    "BitsDial",
    "CacheCalculator",
    "CostExplorer",
    "DecodeStepper",
    "EqualBytes",
    "FirstLook",
    "FlashTiles",
    "HeadStepper",
    "HeadWiring",
    "InsideModel",
    "KeyBudget",
    "LatentExplorer",
    "LivingPlot",
    "PagePool",
    "PhaseFilm",
    "PositionEncodings",
    "Prediction",
    "RingCache",
    "Roofline",
    "RopeScaling",
    "Rotor",
    "SoftmaxChoice",
    "SoftmaxSaturation",
    "TileStepper",
    "VariantTable",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    stem = re.sub(r"\B(?=[A-Z])", "_", name).lower()  # DecodeStepper is in decode_stepper.py
    try:
        module = import_module(f"{__name__}.{stem}")
    except ModuleNotFoundError as error:
        if error.name in ("anywidget", "traitlets"):
            raise ImportError(
                f"{name} needs anywidget: install the extra, pip install 'mini_attn[widgets]'"
            ) from error
        raise
    return getattr(module, name)
