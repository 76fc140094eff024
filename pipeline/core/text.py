"""How two pieces of text are compared: one normal form, and places in the original.

A span counts only where it stands in the text that it is said to come from (UN-2). Between a customer's phone and a
model's answer a text changes in ways that nobody sees: a no-break space becomes a space, an accent is written with one
or two code points, a curly apostrophe becomes a straight one, a soft hyphen gets lost. The normal form takes exactly
these differences away, and nothing more:

* Unicode compatibility form (NFKC) and case folding;
* each run of white space is one space, none at either end;
* typographic quotes and dashes are the plain ones; invisible joiners, soft hyphens and direction marks are dropped.

Invariants: `normalise` is idempotent; `find_span` answers with offsets into the text as it was given, never cuts a
character into parts, and never lets a look-alike letter pass (a Cyrillic "а" stays different from a Latin "a").
Direction *overrides* stay in the text: what they hide is for the reader of the text to refuse.
"""

from __future__ import annotations

import re
import unicodedata

_QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032\u2035\u02bc\u02b9\u00b4`\uff07"), "'")
_DOUBLE = dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb\uff02"), '"')
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"), "-")
_INVISIBLE = dict.fromkeys([0x00AD, 0x034F, 0x061C, 0x2060, 0xFEFF, *range(0x200B, 0x2010), *range(0xFE00, 0xFE10)])
_TABLE: dict[int, str | None] = {**_QUOTES, **_DOUBLE, **_DASHES, **_INVISIBLE}

# One piece of the original: a stretch of ASCII that only needs lower case, a run of white space, or a character
# together with the marks that combine with it (Hangul vowels and finals count as marks: they compose).
_PIECE = re.compile(r"[!-_a-~]+(?![^\x00-\x7f])|\s+|.", re.DOTALL)
_HANGUL_TAIL = range(0x1160, 0x1200)


def normalise(text: str) -> str:
    """The normal form of `text`, in which spellings that look alike to any reader are equal."""
    if text.isascii():
        return " ".join(text.lower().replace("`", "'").split())
    folded = text
    for _ in range(4):  # case folding can undo a composition and the other way round; the second pass settles it
        before, folded = folded, _fold(folded)
        if folded == before:
            break
    return " ".join(folded.split())


def find_span(text: str, span: str, occurrence: int = 1) -> tuple[int, int] | None:
    """Start and end, in `text` as given, of the `occurrence`-th place (from 1) where `span` stands; None if nowhere."""
    wanted = normalise(span)
    if not wanted or occurrence < 1:
        return None
    folded, starts, ends = _mapped(text)
    at = -1
    while (at := folded.find(wanted, at + 1)) >= 0:
        start, end = starts[at], ends[at + len(wanted) - 1]
        if start >= 0 and end >= 0:
            occurrence -= 1
            if not occurrence:
                return start, end
    return None


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text.translate(_TABLE)).casefold())


def _mapped(text: str) -> tuple[str, list[int], list[int]]:
    """Normal form of `text` with, per character of it, where it starts and ends in `text` (-1 inside a character)."""
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _pieces(text):
        piece = text[start:end]
        if piece.isascii() and not piece.isspace():
            out.append(piece.lower().replace("`", "'"))
            starts.extend(range(start, end))
            ends.extend(range(start + 1, end + 1))
            continue
        folded = " " if piece.isspace() else normalise(piece)
        if not folded or (folded == " " and (not out or out[-1] == " ")):
            continue
        out.append(folded)
        starts.extend([start] + [-1] * (len(folded) - 1))
        ends.extend([-1] * (len(folded) - 1) + [end])
    return "".join(out), starts, ends


def _pieces(text: str) -> list[tuple[int, int]]:
    """Bounds of the pieces of `text`: marks belong to the character before them."""
    pieces: list[tuple[int, int]] = []
    for match in _PIECE.finditer(text):
        first = match.group()[0]
        if pieces and not first.isascii() and (unicodedata.combining(first) or ord(first) in _HANGUL_TAIL):
            pieces[-1] = (pieces[-1][0], match.end())
        else:
            pieces.append(match.span())
    return pieces
