"""The bytes in GPT-2's order, and the characters that stand for them in its files."""

from __future__ import annotations

_SHOWN = [*range(33, 127), *range(161, 173), *range(174, 256)]  # what prints as one character
BYTE_ORDER = bytes([*_SHOWN, *(byte for byte in range(256) if byte not in _SHOWN)])
CHARACTERS = [chr(byte) for byte in _SHOWN] + [chr(256 + n) for n in range(256 - len(_SHOWN))]
_BYTE_OF = dict(zip(CHARACTERS, BYTE_ORDER, strict=True))
WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)  # Unicode's White_Space, which is less than Python's own
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]


def bytes_of(token: str) -> bytes | None:
    """The bytes that a token of a file stands for, None if it's not made of those characters."""
    try:
        return bytes(_BYTE_OF[character] for character in token)
    except KeyError:
        return None


def whole_characters(text: str) -> str:
    """Text that has a UTF-8: halves of a character become one, or U+FFFD where one is alone."""
    try:
        text.encode()  # which is what nearly every text passes
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
