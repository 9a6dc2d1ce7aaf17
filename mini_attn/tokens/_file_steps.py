"""The steps that ``tokenizer.json`` names: what rewrites a text, cuts it and joins it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mini_attn.errors import ConfigError
from mini_attn.tokens import _text_steps as steps
from mini_attn.tokens._described import (
    an_object,
    flag,
    one_of,
    parts_of,
    refuse_kind,
    text_of,
    whole,
)
from mini_attn.tokens._text_steps import Cut, Rewrite
from mini_attn.tokens.patterns import compiled, spans

Part = Mapping[str, Any]
LONGEST_GROWTH = 1000
BEHAVIORS = {
    "Removed": "removed", "Isolated": "isolated", "Contiguous": "contiguous",
    "MergedWithPrevious": "merged_with_previous", "MergedWithNext": "merged_with_next",
}  # fmt: skip


def _pattern(part: Part, where: str) -> tuple[str, str]:
    """Text or expression, and which of the two."""
    pattern = part.get("pattern")
    if isinstance(pattern, str):
        pattern = {"String": pattern}
    found = an_object(pattern, f"{where}'s pattern")
    kind = "Regex" if "Regex" in found else "String"
    wanted = text_of(found, kind, f"{where}'s pattern")
    if not wanted or len(found) > 1:
        raise ConfigError(
            f"{where}'s pattern must be one text or one expression, got {found!r:.60}"
        )
    return wanted, kind


def _replace(part: Part, where: str) -> Rewrite:
    wanted, kind = _pattern(part, where)
    new = text_of(part, "content", where)
    if kind == "String":
        return steps.replace(wanted, new)
    return steps.replace_matches(compiled(f"(?:{wanted})"), new)


NORMALIZERS: dict[str, Callable[[Part, str], Rewrite]] = {
    **{form: lambda part, where: steps.normal_form(part["type"]) for form in
       ("NFC", "NFKC")},
    "Lowercase": lambda part, where: steps.lowercase,
    "Strip": lambda part, where: steps.strip(
        flag(part, "strip_left", where, None), flag(part, "strip_right", where, None)
    ),
    "Prepend": lambda part, where: steps.prepend(text_of(part, "prepend", where)),
    "Replace": _replace,
}  # fmt: skip


def _split(part: Part, where: str) -> Cut:
    wanted, kind = _pattern(part, where)
    behavior = BEHAVIORS[one_of(part, "behavior", where, BEHAVIORS)]
    invert = flag(part, "invert", where)
    if kind == "String":
        return steps.matches(steps.literal(wanted), behavior, invert)
    engine = compiled(f"(?:{wanted})")
    return steps.matches(lambda text: spans(text, engine), behavior, invert)


def _each(test: Callable[[str], bool], behavior: str) -> Cut:
    return steps.matches(lambda text: steps.each(text, test), behavior, False)


def _digits(part: Part, where: str) -> Cut:
    alone = flag(part, "individual_digits", where)
    return _each(steps.is_number, "isolated" if alone else "contiguous")


def _metaspace(part: Part, where: str) -> Cut:
    mark, scheme = metaspace_of(part, where)
    return steps.metaspace(mark, scheme, flag(part, "split", where, True))


def metaspace_of(part: Part, where: str) -> tuple[str, str]:
    """The character for a space, and when one comes first; older files say it in other words."""
    mark = text_of(part, "replacement", where, "▁")
    scheme = one_of(part, "prepend_scheme", where, ("always", "first", "never"), "always")
    if not flag(part, "add_prefix_space", where, True):
        if "prepend_scheme" in part and scheme != "never":
            raise ConfigError(f"{where} contradicts itself: {dict(part)!r:.80}")
        scheme = "never"
    if len(mark) != 1:
        raise ConfigError(f"{where} must have one character as replacement, got {mark!r:.40}")
    return mark, scheme


CUTS: dict[str, Callable[[Part, str], Cut]] = {
    "Split": _split,
    "Digits": _digits,
    "Metaspace": _metaspace,
    "WhitespaceSplit": lambda part, where: _each(steps.is_white, "removed"),
}


def read_steps(file: Part) -> tuple[steps.Steps, bool]:
    """Rewrites and cuts, and whether the pieces are bytes at the end."""
    rewrites = []
    for part in parts_of(file.get("normalizer"), "normalizer", ("normalizers",)):
        refuse_kind(part, "normalizer", NORMALIZERS)
        rewrites.append(NORMALIZERS[part["type"]](part, f"normalizer {part['type']}"))
    _check_growth(file)
    cuts: list[Cut] = []
    parts = parts_of(file.get("pre_tokenizer"), "pre_tokenizer", ("pretokenizers",))
    byte_level = bool(parts) and parts[-1].get("type") == "ByteLevel"
    for part in parts[: len(parts) - byte_level]:
        refuse_kind(part, "pre_tokenizer", CUTS)
        cuts.append(CUTS[part["type"]](part, f"pre_tokenizer {part['type']}"))
    if byte_level:
        where = "pre_tokenizer ByteLevel"
        if flag(parts[-1], "add_prefix_space", where, True):
            cuts.append(steps.prefix_space)
        if flag(parts[-1], "use_regex", where, True):
            engine = compiled("gpt2")
            cuts.append(steps.matches(lambda text: spans(text, engine), "isolated", False))
    _check_first(file, parts)
    return steps.Steps(tuple(rewrites), tuple(cuts)), byte_level


def _check_growth(file: Part) -> None:
    """Replacements of replacements may not make a text as long as they like."""
    for place, keys in (("normalizer", "normalizers"), ("decoder", "decoders")):
        factor = 1
        for part in parts_of(file.get(place), place, (keys,)):
            factor *= max(1, len(str(part.get("content") or part.get("prepend") or "")))
            if factor > LONGEST_GROWTH:
                raise ConfigError(
                    f"{place} may make a text more than {LONGEST_GROWTH} times as long"
                )


def _check_first(file: Part, cuts: list[Part]) -> None:
    """A "▁" before the first piece alone: what's first must stay sure."""
    if not any(part.get("prepend_scheme") == "first" for part in cuts):
        return
    rewrites = parts_of(file.get("normalizer"), "normalizer", ("normalizers",))
    taking = [part["type"] for part in rewrites if part["type"] == "Strip"
              or (part["type"] == "Replace" and not part["content"])]  # fmt: skip
    removing = (part for part in cuts if part.get("behavior") == "Removed")
    taking += [part["type"] for part in removing]
    taking += [part["type"] for part in cuts if part["type"] == "WhitespaceSplit"]
    if taking:
        raise ConfigError(f"Metaspace with 'first' isn't read beside {taking[0]}, which takes text")


def read_joining(file: Part) -> dict[str, Any]:
    """Read what the decoder does, in the one order that is read: replace, bytes, fuse, strip."""
    parts = parts_of(file.get("decoder"), "decoder", ("decoders",))
    kinds = [str(part.get("type")) for part in parts]
    if kinds == ["ByteLevel"]:
        return {"byte_level": True}
    if kinds == ["Metaspace"]:
        mark, scheme = metaspace_of(parts[0], "decoder Metaspace")
        return {"replace": [(mark, " ")], "drop": mark if scheme != "never" else ""}
    found: dict[str, Any] = {"replace": []}
    order = ["Replace", "ByteFallback", "Fuse", "Strip"]
    for part, kind in zip(parts, kinds, strict=True):
        refuse_kind(part, "decoder", order)
        if kind == "Replace":
            wanted, way = _pattern(part, "decoder Replace")
            if way != "String":
                raise ConfigError("decoder Replace with an expression isn't read")
            found["replace"].append((wanted, text_of(part, "content", "decoder Replace")))
        elif kind == "Strip":
            if whole(part, "stop", "decoder Strip", 0):
                raise ConfigError("decoder Strip at the end isn't read: text couldn't be streamed")
            found["strip"] = text_of(part, "content", "decoder Strip")
            found["count"] = whole(part, "start", "decoder Strip", 0)
            if len(found["strip"]) != 1:
                raise ConfigError(f"decoder Strip must have one character, got {part!r:.60}")
    ranks = [order.index(kind) for kind in kinds]
    once = [kind for kind in kinds if kind != "Replace"]
    fused = "Strip" not in kinds or "Fuse" in kinds
    if not parts or ranks != sorted(ranks) or len(set(once)) < len(once) or not fused:
        raise ConfigError(
            f"a decoder of {kinds!r:.80} isn't read; this order is: {', '.join(order)}"
        )
    return found | {"byte_fallback": "ByteFallback" in kinds}
