"""The output gate: the one door through which a string leaves to a person.

Theory. A post-hoc check of prose is a trap: it is blind to paraphrase, negation and language. So the burden is inverted (CO-2): what a
message asserts is *generated* from a record and stands in a fact; the gate refuses fact-like words outside the facts, whatever they say.
What no record could ever vouch for (a code to a prospect, another person's number, a promise that a proposed tour is set, a word that
ranks people) is refused wherever it stands.

    outgoing → fold → { dates, amounts, claims, narration, … in prose } ∪ { codes, people, "confirmed" in the whole string } → verdict

Invariants:
* `gate` is pure and total: equal input, equal answer; an exception inside is a refusal (`gate_error`).
* `Passed` is made here and nowhere else; it is the only type that rail and speaker accept (OG-1).
* A text passes exactly when no finding is enforced. Observed findings are reported and block nothing (OG-6).
* Codes and other people's data are looked for over the whole string, joined with what the person received in the last 24 h (IN-3).
  No mode and no human lowers these two classes, nor `confirmation` while the record is PROPOSED (PR-5, IN-5).
* Every locale's lexicon is applied to every reply, the reply's own first.

It never rewrites a text, never asks a model, never logs, and never repeats a secret or another person's value in a finding.
"""

from __future__ import annotations

from hashlib import sha256

from pipeline.core.gate.findings import findings_of
from pipeline.core.gate.model import CLASSES, NEVER_LOWERED, Finding, Mode, Outgoing, RecordState, Secret, Verdict
from pipeline.core.gate.passed import _SEAL, Passed
from pipeline.core.segments import text_of

__all__ = [
    "CLASSES",
    "NEVER_LOWERED",
    "Finding",
    "Mode",
    "Outgoing",
    "Passed",
    "RecordState",
    "Secret",
    "Verdict",
    "gate",
]


def gate(outgoing: Outgoing) -> Verdict:
    """Whether `outgoing` may leave. Pure, and never raises: an exception inside is a refusal."""
    try:
        text = text_of(outgoing.segments)
        findings = findings_of(outgoing, text)
        digest = sha256(text.encode()).hexdigest()
        if any(finding.enforced for finding in findings):
            return Verdict(None, findings, digest)
        passed = Passed(
            _SEAL,
            text=text,
            digest=digest,
            locale=outgoing.locale,
            channel=outgoing.channel,
            audience=outgoing.audience,
            purpose=outgoing.purpose,
        )
        return Verdict(passed, findings, digest)
    except Exception:  # whatever went wrong, nothing leaves
        return Verdict(None, (Finding("narration", 0, 0, "", "gate_error", True),), sha256(b"").hexdigest())
