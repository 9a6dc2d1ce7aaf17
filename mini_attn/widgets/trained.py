"""Pictures of a trained decoder: how a notebook hands its weights over."""

from __future__ import annotations

from typing import Any

import traitlets

from mini_attn.errors import ConfigError
from mini_attn.widgets.base import LivingWidget
from mini_attn.widgets.model_data import model_data

__all__ = ["TrainedWidget"]


class TrainedWidget(LivingWidget):
    """A picture that computes with the decoder named by ``member``.

    Notes
    -----
    The decoder's weights go to the notebook when the picture is shown, and those of another
    member when it is chosen.
    """

    _model = traitlets.Dict().tag(sync=True)
    member = "mha"

    def __init__(self, **state: Any) -> None:
        super().__init__(**state)
        self._shown = False
        if self.has_trait("member"):
            self.observe(self._hand_over, "member")

    def _hand_over(self, _change: Any = None) -> None:
        """Give the picture its decoder, or the reason why it has none."""
        if not self._shown:
            return
        try:
            self._model = {"name": self.member, "data": model_data(self.member)}
        except ConfigError as error:
            self._model = {"name": self.member, "error": str(error)}

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        self._shown = True
        self._hand_over()
        return super()._repr_mimebundle_(**options)
