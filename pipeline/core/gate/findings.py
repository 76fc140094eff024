"""Findings: every claim class applied to one outgoing string.

Two views of the text are read. *Prose* is the text with its facts blanked: dates, amounts, promises, wording rules. The *whole*
text is read for what no fact may hold either: a code for somebody who may not have it, another person's data, "confirmed" while the
record is PROPOSED, narration, a machine that says it is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pipeline.core.calendar import Expression
from pipeline.core.gate.dates import expressions, unvouched
from pipeline.core.gate.folding import blank, fold
from pipeline.core.gate.leaks import leaked
from pipeline.core.gate.lexicon import WHOLE_TEXT, Rule, lexicon
from pipeline.core.gate.model import NEVER_LOWERED, Finding, Outgoing
from pipeline.core.gate.people import people, personal
from pipeline.core.gate.shapes import shapes
from pipeline.core.gate.spelling import Budget, Spelling
from pipeline.core.gate.values import targets
from pipeline.core.segments import Fact, spans_of

_SECRET: Final = frozenset({"access_code", "personal_data"})
_TYPED: Final = (
    frozenset(  # kinds of facts that code renders from a typed value: their digits may happen to equal those of a code
        {
            "address",
            "amount",
            "phone",
            "unit",
            "reference",
            "date",
            "time",
            "datetime",
            "fact",
            "count",
            "number",
            "email",
            "hours",
            "year",
        }
    )
)
_HIDDEN: Final = "•••"
_WORD: Final = re.compile(r"[a-z]+")
_READINGS: Final = 12_000  # of one text; ordinary replies have some dozens
_LONGEST: Final = 20_000  # characters
_CHARACTERS: Final = 500  # different ones

Spans = Sequence[tuple[int, int, str]]


def findings_of(outgoing: Outgoing, text: str) -> tuple[Finding, ...]:
    """Everything that speaks against the text, in the order of the text."""
    if len(text) > _LONGEST or len(set(text)) > _CHARACTERS:
        return (_finding(outgoing, text, "narration", 0, len(text), "no_reply"),)
    spans = spans_of(outgoing.segments)
    whole = View(text)
    prose = View(blank(text, spans)) if spans else whole
    raw = [*_dates(outgoing, text, prose), *_words(outgoing, whole, prose, spans), *_shapes(text), *_sources(outgoing)]
    raw += (*_codes(outgoing, text, spans, whole), *_people(outgoing, whole))
    if not raw:
        return ()
    unique = dict.fromkeys(raw)
    ordered = sorted(unique, key=lambda item: (item[1], item[0], item[3]))
    return tuple(_finding(outgoing, text, *item) for item in ordered)


class View:
    """A text with parts of it blanked, folded once and spelled once."""

    __slots__ = ("_dates", "_spelling", "folded", "text")

    def __init__(self, text: str) -> None:
        self.text, self.folded = text, fold(text)
        self._spelling: Spelling | None = None
        self._dates: tuple[Expression, ...] | None = None

    @property
    def spelling(self) -> Spelling:
        """What the text can be read as."""
        if self._spelling is None:
            self._spelling = Spelling(self.folded.plain, Budget(_READINGS))
        return self._spelling

    def dates(self, locale: str) -> tuple[Expression, ...]:
        """Its date and time expressions."""
        if self._dates is None:
            self._dates = expressions(locale, self.text)
        return self._dates


def enforced(outgoing: Outgoing, claim_class: str) -> bool:
    """Whether a finding of the class blocks this message."""
    if claim_class in NEVER_LOWERED or (claim_class == "confirmation" and outgoing.proposed):
        return True
    return outgoing.modes is None or outgoing.modes.get(claim_class, "enforce") != "observe"


Raw = tuple[str, int, int, str]


def _finding(outgoing: Outgoing, text: str, claim_class: str, start: int, end: int, rule: str) -> Finding:
    token = _HIDDEN if claim_class in _SECRET else text[start:end]
    return Finding(claim_class, start, end, token, rule, enforced(outgoing, claim_class))


def _dates(outgoing: Outgoing, text: str, prose: View) -> Iterator[Raw]:
    if outgoing.committing or outgoing.allow is not None:
        for start, end, rule in unvouched(outgoing, text, prose.dates(outgoing.locale)):
            yield "date_time", start, end, rule


def _words(outgoing: Outgoing, whole: View, prose: View, spans: Spans) -> Iterator[Raw]:
    """The lexicon of all locales, over the prose; for some classes over facts of free wording too, where their words are those of a
    rule (a name may be whatever a customer typed)."""
    known = lexicon()

    def applies(rule: Rule) -> bool:
        return _applies(outgoing, rule)

    found = list(known.mentions(known.words(prose.folded), applies))
    free = [fold(whole.text[start:end]).lower for start, end, kind in spans if kind not in _TYPED]
    if any(not known.telling.isdisjoint(_WORD.findall(text)) for text in free):
        found += known.mentions(
            known.words(whole.folded), lambda rule: rule.claim_class in WHOLE_TEXT and applies(rule)
        )
    for mention in found:
        rule = mention.rule
        if rule.undated and any(e.start < mention.end and mention.start < e.end for e in prose.dates(outgoing.locale)):
            continue
        yield rule.claim_class, mention.start, mention.end, rule.id


def _applies(outgoing: Outgoing, rule: Rule) -> bool:
    if rule.audience is not None and rule.audience != outgoing.audience:
        return False
    if rule.claim_class == "date_time":
        return outgoing.committing
    if rule.claim_class != "confirmation":
        return True
    state = outgoing.record.tour_state if outgoing.record is not None else None
    return state == "PROPOSED" or (rule.unrecorded and state is None)


def _shapes(text: str) -> Iterator[Raw]:
    for rule, start, end in shapes(text):
        yield "narration", start, end, rule


def _sources(outgoing: Outgoing) -> Iterator[Raw]:
    """Facts without a source, and facts of another version of the message's record."""
    at, record = 0, outgoing.record
    for segment in outgoing.segments:
        end = at + len(segment.text)
        if isinstance(segment, Fact):
            if not (segment.kind and segment.record and segment.template):
                yield "provenance", at, end, "no_source"
            elif record is not None and segment.record == record.id and record.version not in (None, segment.version):
                yield "provenance", at, end, "other_version"
        at = end


def _codes(outgoing: Outgoing, text: str, spans: Spans, whole: View) -> Iterator[Raw]:
    """Access codes: to a prospect never; to others only as a fact of that kind."""
    if outgoing.audience == "prospect":
        yield from (("access_code", start, end, "code_fact") for start, end, kind in spans if kind == "access_code")
    wanted = targets(tuple(secret.value for secret in outgoing.secrets if secret.kind == "access_code"))
    if not wanted.all:
        return
    blanked = [span for span in spans if span[2] in _TYPED or span[2] == "access_code"]
    view = View(blank(text, blanked)) if blanked else whole
    if (hit := leaked(view.spelling, wanted, outgoing.before)) is not None:
        yield "access_code", *view.folded.span(hit.start, hit.end), hit.rule


def _people(outgoing: Outgoing, whole: View) -> Iterator[Raw]:
    """Other people's phone numbers, addresses and names, facts included."""
    if not outgoing.others:
        return
    if (hit := personal(whole.folded, whole.spelling, people(outgoing.others), outgoing.before)) is not None:
        yield "personal_data", *whole.folded.span(hit.start, hit.end), hit.rule
