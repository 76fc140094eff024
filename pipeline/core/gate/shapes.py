"""Shapes: internals that show by their form and not by their words, the same in every language.

Markup, placeholders that nobody filled, identifiers, code, stack traces, JSON, SQL. A reply to a customer has none of them, so that the
form alone is enough (OG-4, `narration`). The patterns run over the text as given; one look for any suspicious character spares an
ordinary reply all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_ANY: Final = re.compile(
    r"[{}<>\[\]_=`\\|~^\ue000\ud800-\udfff]|\*\*|#{1,6} |::|\w\(|/(?:app|usr|var|home|etc|src|opt|tmp)/|[a-z][A-Z]|\b[A-Z]{4,}\b|[0-9a-f]{8}-"
    r"|[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]|\w\.\w+\.[A-Z]|\.(?:py|ts|js|json|ya?ml|sql|sh|toml)\b|[Ee]rror|Traceback|Exception"
)
_WHOLE: Final = re.compile(
    r"\W*(?:null|none|undefined|nan|nil|true|false|ok|n/a|\[\]|\{\}|error|object|todo|test)\W*", re.IGNORECASE
)
_SHAPES: Final = tuple(
    (rule, re.compile(pattern, flags))
    for rule, pattern, flags in (
        ("placeholder", r"\{\{[^{}]*\}\}|\$?\{[^{}]{0,60}\}|<%.*?%>|%\(\w+\)s|\[\s*/?(?:[A-Z][A-Z_ ]+|(?:insert|your|name|nombre|date|fecha|time|hora|property|propiedad|first|last|address|agent|phone|unit|link|city|company|inserte)[^\]]{0,40})\]", 0),
        ("json", r"[{\[]\s*[\"']|\"\s*:\s*[\"{\[\d]|\":", 0),
        ("braces", r"[{}]", 0),
        ("markup", r"</?[A-Za-z!][\w:-]*(?:\s[^<>]*)?/?>|<\|[^|<>]*\|>|^#{1,6}\s|\*\*[^*\n]+\*\*|`{1,3}|__\w+__|\[[^\[\]]+\]\([^()]+\)|~~[^~]+~~|^\s*\|.*\|\s*$|^\s*---+\s*$", re.MULTILINE),
        ("identifier", r"(?<![\w./@&?=-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w@.-]*@)(?!\w)|\b[a-z]+[0-9a-z]*(?:[A-Z][a-z0-9]+){1,}\b(?=\s*[(.=:])|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", 0),
        ("assignment", r"(?<![?&/\w.-])[A-Za-z_][\w.]*\s?==?\s?[\w'\"\[{]", 0),
        ("call", r"\b\w+\((?:[^()]*=[^()]*|)\)|\b[a-z_]+\.[a-z_]+\(|\bdef \w+|=>|->|::", 0),
        ("trace", r"Traceback|\bFile \"[^\"]+\"|\b[A-Z]\w*(?:Error|Exception|Violation)\b|\bat [\w.$]+\([\w.]+:\d+\)|\b[a-z]+(?:\.[a-z]+)+\.[A-Z]\w+", 0),
        ("path", r"(?:^|[\s\"'(])/(?:app|usr|var|home|etc|src|opt|tmp)/\w|[A-Z]:\\|\b[\w-]+\.(?:py|ts|js|json|ya?ml|sql|sh|toml)\b", 0),
        ("sql", r"\b(?:SELECT|INSERT|UPDATE|DELETE|DROP|ALTER)\b[^.]*\b(?:FROM|INTO|SET|TABLE|WHERE|VALUES)\b", 0),
        ("state", r"\b(?:PROPOSED|CONFIRMED|CANCELLED|CANCELED|DEGRADED|PARKED|SUPERSEDED|EXPIRED|NULL|NONE|TODO|FIXME|DEBUG|ASSERT|RETRYABLE|FATAL)\b(?!\s*!)", 0),
        ("role", r"^\s*(?:assistant|user|system|human|ai|bot|tool|asistente|usuario|sistema)\s*[:>]", re.IGNORECASE | re.MULTILINE),
        ("hidden", r"[\ue000\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f\ud800-\udfff]", 0),
    )
)  # fmt: skip


def shapes(text: str) -> Iterator[tuple[str, int, int]]:
    """Every shape in `text` as it will be read: rule, start, end; at most one per rule."""
    if _WHOLE.fullmatch(text):
        yield "literal", 0, len(text)
    if not _ANY.search(text) and ":" not in text[:12]:
        return
    for rule, pattern in _SHAPES:
        if match := pattern.search(text):
            yield rule, match.start(), match.end()
