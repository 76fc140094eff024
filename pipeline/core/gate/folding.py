"""Folding: every spelling of a character that a reader takes for a plain one becomes the plain one.

The gate looks for words and values, and whoever wants to smuggle them changes how they are written: full-width or Arabic digits,
a Cyrillic look-alike, marks that strike a digit through, characters that nobody sees. Folding takes all of that away first, so
that no list below it has to know about it (OG-3, OG-5): compatibility form, category Cf and combining marks dropped, digits of
any script as ASCII, look-alikes as the Latin letter or digit that they look like, typographic quotes and dashes plain.

Invariants: `Folded.origin` says for each folded character which character of the original it came from, so that a finding
points into the text as given; the case is kept (it tells "III" from "iii"), `lower` is without it. Folding loses accents on
purpose: it serves matching and is never sent to anybody.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

FACT: Final = "\ue000"
"""Stands for each character of a blanked fact. A private-use character: folded text cannot contain it otherwise."""

_LOOKALIKES: Final = {
    # Cyrillic, Greek, Armenian, Cherokee and Latin letters by what they look like in common fonts.
    **dict(zip("АВЕКМНОРСТУХЅІЈԚԜҮ", "ABEKMHOPCTYXSIJQWY", strict=True)),
    **dict(zip("аеорсухѕіјԛԝһкԁ", "aeopcyxsijqwhkd", strict=True)),
    **dict(zip("ЗзбЧ", "3364", strict=True)),
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX", strict=True)),
    **dict(zip("οινκρυχτα", "oivkpuxta", strict=True)),
    **dict(zip("ՕՏԼօոս", "OSLonu", strict=True)),
    **dict(zip("ᎪᎬᎻᏀᏃᏢᏦᏟᎷᎢᏴ", "AEHGZPKCMTB", strict=True)),
    **dict(zip("ɡɑıȷʟᴏɩⅼØøÐđŁłƷʒƐȜȝꝚ", "gaijLolLOoDdLl333333R", strict=False)),
    **dict(zip("‘’‚‛′`´ʼ＇", "'" * 9, strict=True)),
    **dict(zip("“”„‟″«»", '"' * 7, strict=True)),
    **dict(zip("‐‑‒–—―−﹣⁃", "-" * 9, strict=True)),
    **dict(zip("∕⁄⧸", "///", strict=True)),
    **dict(zip("·•∙‧・●", "." * 6, strict=True)),
    "…": ".",
    "º": "o",
    "ª": "a",
    "ǀ": "|",
    "∣": "|",
    "ı": "i",
    "ß": "s",
}
_BLANKS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5")  # letters and symbols that show nothing
_LETTER_NAME: Final = re.compile(
    r"(?:SMALL CAPITAL|SQUARED LATIN CAPITAL|NEGATIVE CIRCLED LATIN CAPITAL|NEGATIVE SQUARED LATIN CAPITAL"
    r"|INDICATOR SYMBOL|TAG LATIN (?:CAPITAL|SMALL)|LATIN SUBSCRIPT SMALL|MODIFIER LETTER (?:CAPITAL|SMALL)) "
    r"(?:LETTER )?([A-Z])$"
)
_FINAL_ACCENT: Final = re.compile(r"[áéíóúÁÉÍÓÚ](?!\w)")
_SIMPLE: Final = re.compile(r"[\x00-\x7fáéíóúüñÁÉÍÓÚÜÑ¿¡‘’“”–—…€£ºª\xa0" + FACT + "]*")
_SIMPLE_TABLE: Final = str.maketrans("áéíóúüñÁÉÍÓÚÜÑ‘’“”–—…ºª\xa0`", "aeiouunAEIOUUN''\"\"--.oa '")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text. plain: case kept; lower: without case, same length; origin: index into `text`, per character."""

    text: str
    plain: str
    lower: str
    origin: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Bounds in the original of `plain[start:end]`."""
        if start >= end:
            at = self.origin[start] if start < len(self.origin) else len(self.text)
            return at, at
        return self.origin[start], self.origin[end - 1] + 1

    def accents(self) -> dict[int, str]:
        """Accented vowels that end a word: index into `lower` and the letter with its accent (it tells "llamé" from "llame")."""
        if self.text.isascii():
            return {}
        at = {self.origin[i]: i for i in range(len(self.origin))} if not isinstance(self.origin, range) else self.origin
        return {at[match.start()]: match.group().lower() for match in _FINAL_ACCENT.finditer(self.text)}


def fold(text: str) -> Folded:
    """The folded form of `text`."""
    if _SIMPLE.fullmatch(text):
        plain = text if text.isascii() and "`" not in text else text.translate(_SIMPLE_TABLE)
        return Folded(text, plain, plain.lower(), range(len(text)))
    out: list[str] = []
    origin: list[int] = []
    for at, char in enumerate(text):
        piece = char if char < "\x7f" else _folded(char)
        if piece:
            out.append(piece)
            origin.extend([at] * len(piece))
    plain = "".join(out)
    lower = plain.lower()
    return Folded(text, plain, lower if len(lower) == len(plain) else plain, origin)


def blank(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """`text` with every character of the spans replaced by `FACT`; same length."""
    if not spans:
        return text
    parts: list[str] = []
    at = 0
    for start, end, _ in spans:
        parts += (text[at:start], FACT * (end - start))
        at = end
    return "".join((*parts, text[at:]))


@lru_cache(maxsize=4096)
def _folded(char: str) -> str:
    if char == FACT:
        return FACT
    if (plain := _LOOKALIKES.get(char)) is not None:
        return plain
    digit = unicodedata.numeric(char, -1.0)
    if digit >= 0 and digit == int(digit) and digit < 100 and not unicodedata.name(char, "").startswith("ROMAN"):
        return str(int(digit))
    if name := _LETTER_NAME.search(unicodedata.name(char, "")):
        return name[1]
    if unicodedata.name(char, "").startswith("TAG DIGIT"):
        return chr(ord(char) - 0xE0000)
    kept = [c for c in unicodedata.normalize("NFKD", char) if unicodedata.category(c) not in {"Cf", "Mn", "Me", "Cc"}]
    piece = "".join(_LOOKALIKES.get(c, " " if c in _BLANKS or c.isspace() else c) for c in kept)
    return " " if not piece and unicodedata.category(char) in {"Zs", "Zl", "Zp", "Cc", "Co"} else piece
