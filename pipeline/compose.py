"""Compose: from a plan to one gated string and the bytes that carry it (CO-1 … CO-4, OG-1).

The model writes the words between; code places the facts. A draft counts only when every mark stands in it exactly once and nothing else looks like a mark;
otherwise, and whenever the model fails, code's own sentences are the message, so that a commit is never silent. Each candidate goes through the gate, in this
order: the model's draft, code's sentences alone, the holding text. What the gate refuses is kept for a person and not a character of it leaves (OG-7).

Nothing here sends: `payload` turns a `Passed` into the bytes that are stored, and only a `Passed` can become a payload.
"""

from __future__ import annotations

import email
import email.policy
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pipeline.core.gate import Mode, Outgoing, Passed, RecordState, Secret, Verdict, gate
from pipeline.core.plan import Plan
from pipeline.core.property import Property
from pipeline.core.segments import Prose, Segment, text_of
from pipeline.core.templates import FactSource, Templates
from pipeline.ports import Draft, Drafter, DraftRequest, FactMark, ModelFailure
from pipeline.store import Payload

_MARK = re.compile(r"\{\{\s*(F\d+)\s*\}\}")
_LOOSE_MARK = re.compile(r"[{}]|\bF\d+\b")
# Line ends and tabs apart, a control character is no part of a message, and not every database keeps one.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

# Text-message bodies end at 1,600 characters (TX-1); drafts that would pass it are code's sentences alone.
SMS_LIMIT = 1_600


@dataclass(frozen=True, slots=True)
class Setting:
    """What a string is gated against: where it goes, to whom, and what left to that person before."""

    channel: Literal["voice", "sms", "email"]
    audience: Literal["prospect", "resident", "staff"]
    purpose: str
    secrets: tuple[Secret, ...]
    before: tuple[str, ...]
    modes: Mapping[str, Mode]
    now: datetime
    tour_state: str | None


@dataclass(frozen=True, slots=True)
class Composed:
    """One gated message. `refused` holds what the gate turned down before it, for a person to see; `failure` the model's, if it failed."""

    passed: Passed
    segments: tuple[Segment, ...]
    verdict: Verdict
    source: Literal["draft", "code", "holding"]
    refused: str | None = None
    refused_verdict: Verdict | None = None
    failure: ModelFailure | None = None


class NothingMayLeave(Exception):
    """Even the holding text was refused; `verdict` says why. The intent is parked and a person is called."""

    def __init__(self, verdict: Verdict, refused: str) -> None:
        super().__init__("the gate refused every candidate")
        self.verdict = verdict
        self.refused = refused


async def compose(
    plan: Plan,
    setting: Setting,
    prop: Property,
    templates: Templates,
    drafter: Drafter | None,
    *,
    text: str,
    history: Sequence[tuple[Literal["customer", "clara"], str]],
    first_message: bool,
    budget: float,
) -> Composed:
    """The first candidate that the gate passes. Raises NothingMayLeave where none does."""
    facts = [templates.render(fact, plan.locale, setting.channel == "voice") for fact in plan.facts]
    opening = _disclosure(plan, setting, prop, templates) if first_message and setting.channel != "voice" else ()
    failure: ModelFailure | None = None
    refused: str | None = None
    refused_verdict: Verdict | None = None
    if drafter is not None and plan.draft:
        answer = await drafter.draft(_request(plan, setting, prop, templates, text, history, first_message), budget)
        if isinstance(answer, Draft):
            placed = place(answer.text, facts)
            if placed is None:
                failure = ModelFailure("invalid", "the draft misplaced a fact mark, or holds control characters", retryable=False)
            else:
                segments = (*opening, *placed)
                verdict = gate(outgoing(segments, plan, setting))
                if verdict.passed is not None and _fits(segments, setting.channel):
                    return Composed(verdict.passed, segments, verdict, "draft")
                if verdict.passed is None:
                    refused, refused_verdict = text_of(segments), verdict
        else:
            failure = answer
    segments = (*opening, *joined(facts))
    verdict = gate(outgoing(segments, plan, setting))
    if facts and verdict.passed is not None:
        return Composed(verdict.passed, segments, verdict, "code", refused, refused_verdict, failure)
    if facts and refused is None:
        refused, refused_verdict = text_of(segments), verdict
    held = holding("holding", plan.locale, setting, prop, templates)
    if held.passed is None:
        raise NothingMayLeave(held, refused or "")
    return Composed(
        held.passed, (Prose(held.passed.text),), held, "holding", refused, refused_verdict, failure
    )


def place(draft: str, facts: Sequence[Sequence[Segment]]) -> tuple[Segment, ...] | None:
    """The draft with each fact in the place of its mark; None unless every mark stands exactly once and the rest is plain writing."""
    segments: list[Segment] = []
    seen: set[str] = set()
    at = 0
    for mark in _MARK.finditer(draft):
        number = int(mark.group(1)[1:])
        if mark.group(1) in seen or not 1 <= number <= len(facts):
            return None
        seen.add(mark.group(1))
        if mark.start() > at:
            segments.append(Prose(draft[at : mark.start()]))
        segments.extend(facts[number - 1])
        at = mark.end()
    if at < len(draft):
        segments.append(Prose(draft[at:]))
    prose = [segment.text for segment in segments if isinstance(segment, Prose)]
    if len(seen) != len(facts) or any(_LOOSE_MARK.search(text) or _CONTROL.search(text) for text in prose):
        return None
    return tuple(segments)


def joined(facts: Sequence[Sequence[Segment]]) -> tuple[Segment, ...]:
    """Code's sentences alone, a blank between them."""
    segments: list[Segment] = []
    for fact in facts:
        if segments:
            segments.append(Prose(" "))
        segments.extend(fact)
    return tuple(segments)


def outgoing(segments: tuple[Segment, ...], plan: Plan, setting: Setting) -> Outgoing:
    """The one shape in which strings go to the gate."""
    return Outgoing(
        segments=segments,
        locale=plan.locale,
        channel=setting.channel,
        audience=setting.audience,
        purpose=setting.purpose,
        committing=plan.committing,
        record=RecordState(plan.record_state or setting.tour_state),
        allow=None if plan.committing else frozenset(plan.allow),
        before=setting.before,
        secrets=setting.secrets,
        modes=setting.modes,
        now=setting.now,
    )


def holding(name: str, locale: str, setting: Setting, prop: Property, templates: Templates) -> Verdict:
    """A fact-free text (`holding`, `fallback`, `floor`, `late_line` …), rendered from settings and gated (CO-4)."""
    source = FactSource(name, prop.id, 0, {"property": prop.name, "phone": prop.public_phone})
    plan = Plan(name, locale, (source,), committing=True)
    return gate(outgoing(templates.render(source, locale, setting.channel == "voice"), plan, setting))


def payload(passed: Passed, data: bytes | None = None, message_id: str | None = None) -> Payload:
    """The bytes that carry a passed string: its UTF-8 for texts, a whole MIME message around it for mails (`data`).

    Raises ValueError where a reader of `data` would read anything else than the string: nothing else than what passed may travel.
    """
    if data is not None and not _carries(data, passed.text):
        raise ValueError("the mail does not carry the string that passed, and that alone")
    body = passed.text.encode() if data is None else data
    return Payload(body, hashlib.sha256(body).hexdigest(), passed.text, message_id)


def _carries(mail: bytes, text: str) -> bool:
    """Whether the one text of a mail is `text`, line ends and the last line's end apart. Read with the standard parser, not with our own."""
    parts = [part for part in email.message_from_bytes(mail, policy=email.policy.default).walk() if not part.is_multipart()]
    kinds = sorted(part.get_content_type() for part in parts)
    if kinds not in (["text/plain"], ["text/calendar", "text/plain"]):
        return False
    words = next(part for part in parts if part.get_content_type() == "text/plain").get_content()
    return _unix(str(words)) == _unix(text)


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as it is stored: digest and findings (TR-6)."""
    return {
        "passed": verdict.passed is not None,
        "digest": verdict.digest,
        "findings": [
            {"claim_class": f.claim_class, "start": f.start, "end": f.end, "token": f.token, "rule": f.rule, "enforced": f.enforced}
            for f in verdict.findings
        ],
    }


def modes_of(stored: Mapping[str, str]) -> dict[str, Mode]:
    """Stored claim-class modes; anything that is not `observe` enforces."""
    return {name: "observe" if mode == "observe" else "enforce" for name, mode in stored.items()}


def _disclosure(plan: Plan, setting: Setting, prop: Property, templates: Templates) -> tuple[Segment, ...]:
    source = FactSource("disclosure", prop.id, 0, {"property": prop.name, "phone": prop.public_phone})
    gap = "\n\n" if setting.channel == "email" else " "
    return (*templates.render(source, plan.locale), Prose(gap))


def _request(
    plan: Plan,
    setting: Setting,
    prop: Property,
    templates: Templates,
    text: str,
    history: Sequence[tuple[Literal["customer", "clara"], str]],
    first_message: bool,
) -> DraftRequest:
    marks = [
        FactMark(f"F{number}", templates.get(fact.template, plan.locale).means) for number, fact in enumerate(plan.facts, 1)
    ]
    return DraftRequest(plan.outcome, setting.channel, plan.locale, prop.name, marks, text, history, first_message)


def _fits(segments: tuple[Segment, ...], channel: str) -> bool:
    return channel != "sms" or len(text_of(segments)) <= SMS_LIMIT
