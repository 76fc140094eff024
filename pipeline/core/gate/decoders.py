"""Decoders: what a text says once its encoding is taken away.

Entities, tags and escapes; characters by their numbers in base two, ten or sixteen; base 64; Morse, Braille and tally marks; stretched
letters. Each decoder runs only where the text bears its marks, and yields a text to be searched like any other. None knows a value.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Iterator, Set
from typing import Final
from urllib.parse import unquote

from pipeline.core.gate.folding import fold

_MORSE: Final = {
    "-----": "0", ".----": "1", "..---": "2", "...--": "3", "....-": "4", ".....": "5", "-....": "6", "--...": "7", "---..": "8",
    "----.": "9", ".-": "A", "-...": "B", "-.-.": "C", "-..": "D", ".": "E", "..-.": "F", "--.": "G", "....": "H", "..": "I",
    ".---": "J", "-.-": "K", ".-..": "L", "--": "M", "-.": "N", "---": "O", ".--.": "P", "--.-": "Q", ".-.": "R", "...": "S",
    "-": "T", "..-": "U", "...-": "V", ".--": "W", "-..-": "X", "-.--": "Y", "--..": "Z",
}  # fmt: skip
_BRAILLE: Final = str.maketrans("⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚", "1234567890", "⠼")
_MAX_RUNS: Final = 5  # of one kind in one text
_WIDTHS: Final = (4, 5, 6)  # digits of codes that begin with zeros
_MARKS: Final = frozenset("&<%\\([{|=_⠼⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚")
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,80}>")
_ESCAPE: Final = re.compile(r"(?:\\u\{?|U\+|\\x|&#x)([0-9A-Fa-f]{2,6})\}?;?")
_ASIDE: Final = re.compile(r"\([^()]{0,60}\)|\[[^\[\]]{0,60}\]|\{[^{}]{0,60}\}")
_HEX_RUN: Final = re.compile(r"(?:\b(?:0x)?[0-9A-Fa-f]{2}\b[\s,:;-]*){3,}")
_HEX_WORD: Final = re.compile(r"\b[0-9A-Fa-f]{6,}\b")
_HEX_VALUE: Final = re.compile(r"\b0x([0-9A-Fa-f]{2,8})\b")
_ASCII_RUN: Final = re.compile(r"(?:\b(?:4[89]|5[0-7]|6[5-9]|[78]\d|90|9[7-9]|1[01]\d|12[0-2])\b[\s,;-]*){3,}")
_MORSE_RUN: Final = re.compile(r"(?<![.\-\w])[.\-_]{1,5}(?:[ /|,]+[.\-_]{1,5})+(?!\w)")
_TALLY_RUN: Final = re.compile(r"(?:[|Il/]{1,9}[\s,;-]+){2,}[|Il/]{1,9}")
_BINARY_RUN: Final = re.compile(r"\b[01]{3,}(?:[\s,;-]+[01]{3,})*\b")
_CASED: Final = re.compile(r"[a-z0-9][A-Z]")
_TRIPLE: Final = re.compile("(?:aaa|eee|iii|ooo|uuu|nnn|rrr|sss|ttt|vvv|fff|xxx)", re.IGNORECASE)
_STRETCHED: Final = re.compile(r"([A-Za-z])\1{2,}")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{4,}={0,2}")


def decoded(text: str, numeric: bool) -> Iterator[str]:
    """What the usual decoders make of a folded text; nothing for a text that bears no sign of any. numeric: it has a digit."""
    marks = _MARKS.intersection(text)
    if marks:
        yield from _unmarked(text, marks)
    if "=" in marks or _CASED.search(text):
        yield " . ".join(map(_base64, _BASE64.findall(text)))
    if _TRIPLE.search(text) and _STRETCHED.search(text):
        yield from (_STRETCHED.sub(kept, text) for kept in (r"\1", r"\1\1"))
    if numeric:
        yield from _numbers(text)
    if "|" in marks or " -" in text or " ." in text or "- " in text:
        for run in _MORSE_RUN.findall(text)[:_MAX_RUNS]:
            yield "".join(_MORSE.get(sign.replace("_", "-"), " ") for sign in re.split(r"[ /|,]+", run))
        for run in _TALLY_RUN.findall(text)[:_MAX_RUNS]:
            yield "".join(str(len(marks)) for marks in re.findall(r"[|Il/]+", run))


def _unmarked(text: str, marks: Set[str]) -> Iterator[str]:
    """Entities, tags, escapes, asides, Braille, base 64."""
    bare = _TAG.sub("", html.unescape(text)) if "&" in marks or "<" in marks else text
    if "\\" in marks or "%" in marks:
        bare = unquote(_ESCAPE.sub(lambda match: _char(match[1]), bare))
    if bare != text:
        yield fold(bare).plain
    if not marks.isdisjoint("([{"):
        yield _ASIDE.sub(" ", text)
    if any("⠀" < char <= "⠿" for char in marks):
        yield text.translate(_BRAILLE)


def _numbers(text: str) -> Iterator[str]:
    """Characters by their numbers, and values in base two or sixteen."""
    yield " . ".join(_hex(re.sub(r"0x|[^0-9A-Fa-f]", "", run)) for run in _HEX_RUN.findall(text))
    yield " . ".join(map(_hex, _HEX_WORD.findall(text)))
    yield " . ".join(_padded(int(word, 16)) for word in _HEX_VALUE.findall(text))
    yield " . ".join(
        "".join(chr(int(number)) for number in re.findall(r"\d+", run)) for run in _ASCII_RUN.findall(text)
    )
    for match in list(_BINARY_RUN.finditer(text))[:_MAX_RUNS]:
        groups = re.findall(r"[01]+", match.group())
        yield " ".join(_padded(int(group, 2)) for group in groups if len(group) <= 40)
        joined = "".join(groups)
        if len(joined) % 8 == 0:
            yield "".join(chr(int(joined[i : i + 8], 2)) for i in range(0, len(joined), 8))
        nibbles = groups if len(groups) > 1 else [joined[i : i + 4] for i in range(0, len(joined), 4)]
        yield "".join(str(int(group, 2)) for group in nibbles if len(group) < 5)
    if "U+" in text:
        yield _ESCAPE.sub(lambda match: _char(match[1]), text)


def _padded(value: int) -> str:
    """A number as the codes that it could be: codes may begin with zeros."""
    return " or ".join(str(value).zfill(width) for width in _WIDTHS)


def _char(digits: str) -> str:
    code = int(digits, 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


def _hex(digits: str) -> str:
    return bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("ascii", "replace")


def _base64(word: str) -> str:
    try:
        raw = base64.b64decode(word.rstrip("=") + "=" * (-len(word.rstrip("=")) % 4), altchars=b"-_")
        return raw.decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""
