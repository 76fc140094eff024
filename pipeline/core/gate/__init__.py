"""The output gate: the one door through which a string leaves to a person."""

from __future__ import annotations

from hashlib import sha256

from pipeline.core.calendar import detect, supported_locales
from pipeline.core.gate.model import CLASSES, NEVER_LOWERED, Finding, Mode, Outgoing, RecordState, Secret, Verdict
from pipeline.core.gate.passed import _SEAL, Passed
from pipeline.core.segments import spans_of, text_of

__all__ = [
    "CLASSES", "NEVER_LOWERED", "Finding", "Mode", "Outgoing", "Passed", "RecordState", "Secret", "Verdict", "gate",
]


def gate(outgoing: Outgoing) -> Verdict:
    """Whether `outgoing` may leave. Pure; never raises: an exception inside is a refusal."""
    try:
        text = text_of(outgoing.segments)
        findings = _findings(outgoing, text)
    except Exception:
        findings, text = (Finding("narration", 0, 0, "", "gate_error", True),), ""
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    passed = None
    if not any(finding.enforced for finding in findings):
        passed = Passed(
            _SEAL, text=text, digest=digest, locale=outgoing.locale, channel=outgoing.channel,
            audience=outgoing.audience, purpose=outgoing.purpose,
        )
    return Verdict(passed, findings, digest)


def _findings(outgoing: Outgoing, text: str) -> tuple[Finding, ...]:
    found: list[Finding] = []
    spans = spans_of(outgoing.segments)
    if outgoing.committing:
        for e in detect(text, (outgoing.locale, *supported_locales())):
            if not any(start <= e.start and e.end <= end for start, end, _ in spans):
                found.append(Finding("date_time", e.start, e.end, text[e.start : e.end], "outside_span", True))
    for secret in outgoing.secrets:
        if secret.kind == "access_code" and outgoing.audience == "prospect" and secret.value in text:
            found.append(Finding("access_code", 0, 0, "•••", "plain", True))
    return tuple(found)
