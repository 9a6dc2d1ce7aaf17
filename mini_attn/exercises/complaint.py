"""What a user reported of a broken function, before anybody knew why."""

from __future__ import annotations

from dataclasses import dataclass

from mini_attn.errors import ConfigError

__all__ = ["TOPICS", "Complaint"]

TOPICS = ("masks", "softmax", "heads", "positions", "caches", "numbers", "tokens")


@dataclass(frozen=True)
class Complaint:
    """A repair exercise as the bug clinic admits it.

    Parameters
    ----------
    topic : {"masks", "softmax", "heads", "positions", "caches", "numbers", "tokens"}
        What the function is about.
    words : str
        What a user would have reported: what goes wrong, never why.
    shipped : str
        The public thread that shows such code shipped, as a Markdown link, and a sentence on it.
        It may name the bug, so the page folds it. Empty for a bug that is made up.

    Raises
    ------
    ConfigError
        If there is no such topic, nothing is reported, or `shipped` links to no thread.
    """

    topic: str
    words: str
    shipped: str = ""

    def __post_init__(self) -> None:
        if self.topic not in TOPICS:
            known = ", ".join(TOPICS)
            raise ConfigError(f"the topic is {self.topic!r}, expected one of {known}")
        if not self.words:
            raise ConfigError("a complaint without words: what would a user report?")
        if self.shipped and "](https://" not in self.shipped:
            raise ConfigError(
                f"{self.shipped[:40]!r} links to no thread, expected [name](https://…)"
            )
