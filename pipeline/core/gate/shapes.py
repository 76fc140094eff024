"""Shapes: internals that show by their form and not by their words, the same in every language.

Markup, placeholders that nobody filled, identifiers, code, stack traces, JSON, SQL. A reply to a customer has none of them, so that the
form alone is enough (OG-4, `narration`). The patterns run over the text as given; a look at its characters spares an ordinary
reply nearly all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_WHOLE: Final = re.compile(
    r"\W*(?:null|none|undefined|nan|nil|true|false|ok|n/a|\[\]|\{\}|error|object|todo|test)\W*", re.IGNORECASE
)
_HIDDEN: Final = re.compile("[\ue000\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f\ud800-\udfff]")
_CLUES: Final = (  # letters that stand for what a character alone does not tell
    ("A", re.compile(r"[a-z][A-Z]|[A-Z]{4}").search),
    ("N", re.compile("NaN").search),
    ("L", re.compile(r"---|-[0-9a-f]{4}-").search),
    ("P", re.compile(r"\.(?:py|ts|js|json|ya?ml|sql|sh|toml)\b").search),
)
_SHAPES: Final = tuple(  # rule, the signs without which it cannot occur (see _CLUES), pattern
    (rule, frozenset(signs), re.compile(pattern, flags))
    for rule, signs, pattern, flags in (
        ("placeholder", "{<%$", r"\{\{[^{}]*\}\}|\$?\{[^{}]{0,60}\}|<%.*?%>|%\(\w+\)s|%[A-Za-z_]+%|\$[A-Z_]{3,}", 0),
        ("placeholder", "[", r"\[(?!\s*(?:at|dot|arroba|punto)\s*\])[^\[\]\n]*[A-Za-z][^\[\]\n]*\]", re.IGNORECASE),
        ("json", "{[\"", r"[{\[]\s*[\"']|\"\s*:\s*[\"{\[\d]|\":", 0),
        ("braces", "{}", r"[{}]", 0),
        ("markup", "<", r"</?[A-Za-z!][\w:-]*(?:\s[^<>]*)?/?>|<\|[^|<>]*\|>", 0),
        ("markup", "#*`_[~|", r"^#{1,6}\s|\*\*[^*\n]+\*\*|`{1,3}|__\w+__|\[[^\[\]]+\]\([^()]+\)|~~[^~]+~~|^\s*\|.*\|\s*$", re.MULTILINE),
        ("markup", "L", r"^\s*---+\s*$", re.MULTILINE),
        ("identifier", "_", r"(?<![\w./@&?=-])[a-z][a-z0-9]{0,30}(?:_[a-z0-9]{1,30}){1,8}(?![\w@.-]{0,60}@)", 0),
        ("identifier", "L", r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", 0),
        ("identifier", "A", r"\b[a-z]+[0-9a-z]*(?:[A-Z][a-z0-9]+)+\b(?=\s*[(.=:])", 0),
        ("assignment", "=", r"(?<![?&/\w.-])[A-Za-z_][\w.]*\s?==?\s?[\w'\"\[{]", 0),
        ("call", "(>", r"\b\w+\((?:[^()]*=[^()]*|)\)|\b[a-z_]+\.[a-z_]+\(|=>|->", 0),
        ("trace", "A", r"Traceback|\b[A-Z]\w*(?:Error|Exception|Violation)\b|\b[a-z]+(?:\.[a-z]+)+\.[A-Z]\w+", 0),
        ("trace", "\"(", r"Traceback|\bFile \"[^\"]+\"|\bat [\w.$]+\([\w.]+:\d+\)", 0),
        ("path", "/\\", r"(?:^|[\s\"'(])/(?:app|usr|var|home|etc|src|opt|tmp)/\w|[A-Z]:\\", 0),
        ("path", "P", r"\.(?:py|ts|js|json|ya?ml|sql|sh|toml)\b", 0),
        ("sql", "A", r"\b(?:SELECT|INSERT|UPDATE|DELETE|DROP|ALTER)\b[^.]*\b(?:FROM|INTO|SET|TABLE|WHERE|VALUES)\b", 0),
        ("literal", "N", r"\bNaN\b", 0),
        ("state", "A", r"\b(?:PROPOSED|CONFIRMED|CANCELLED|CANCELED|DEGRADED|PARKED|SUPERSEDED|EXPIRED|NULL|NONE|TODO|FIXME|DEBUG|ASSERT|RETRYABLE|FATAL)\b(?!\s*!)", 0),
        ("role", ":>", r"^\s*(?:assistant|user|system|human|ai|bot|tool|asistente|usuario|sistema)\s*[:>]", re.IGNORECASE | re.MULTILINE),
    )
)  # fmt: skip


def shapes(text: str) -> Iterator[tuple[str, int, int]]:
    """Every shape in `text` as it will be read: rule, start, end; at most one per pattern."""
    if len(text) < 20 and _WHOLE.fullmatch(text):
        yield "literal", 0, len(text)
    signs = {char for char in set(text) if not char.isalpha()}
    signs.update(clue for clue, search in _CLUES if search(text))
    for rule, needed, pattern in _SHAPES:
        if not needed.isdisjoint(signs) and (match := pattern.search(text)):
            yield rule, match.start(), match.end()
    if not text.isascii() and (match := _HIDDEN.search(text)):
        yield "hidden", match.start(), match.end()
