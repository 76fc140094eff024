"""The gate always answers, and in doubt it refuses (OG-1, OG-7)."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.gate import CLASSES, Outgoing, RecordState, Secret, gate
from pipeline.core.segments import Fact, Prose
from tests.gate.says import outgoing, verdict

TEXTS = st.text(st.characters(), max_size=80) | st.text(
    "47 21one cuatro.,-()[]{}<>&#%=\\$¿?\u200b\u0336٤４", max_size=60
)
PARTS = st.lists(
    st.builds(Prose, TEXTS)
    | st.builds(
        Fact,
        st.sampled_from(("date", "name", "access_code")),
        TEXTS,
        st.just("r"),
        st.just("f"),
        st.just(1),
        st.just("t"),
        st.just("en"),
    ),
    max_size=4,
)
OUTGOING = st.builds(
    Outgoing,
    segments=PARTS.map(tuple),
    locale=st.sampled_from(("en", "es", "fr", "")),
    channel=st.sampled_from(("voice", "sms", "email")),
    audience=st.sampled_from(("prospect", "resident", "staff")),
    committing=st.booleans(),
    record=st.none() | st.builds(RecordState, st.sampled_from(("PROPOSED", "CONFIRMED", None))),
    allow=st.none() | st.just(frozenset({"2026-08-21", "15:00"})),
    before=st.lists(TEXTS, max_size=2).map(tuple),
    secrets=st.lists(st.builds(Secret, st.just("access_code"), TEXTS), max_size=2).map(tuple),
    others=st.lists(TEXTS, max_size=2).map(tuple),
    now=st.none() | st.just(datetime(2026, 8, 18, 10, tzinfo=ZoneInfo("America/Chicago"))),
)


@settings(max_examples=60)
@given(OUTGOING)
def test_it_never_raises(each: Outgoing) -> None:
    """Any string to anybody gets a verdict; a pass has no enforced finding, a refusal has one."""
    answer = gate(each)
    assert (answer.passed is None) == any(finding.enforced for finding in answer.findings)
    assert all(finding.claim_class in CLASSES for finding in answer.findings)


@settings(max_examples=60)
@given(OUTGOING)
def test_it_is_a_function(each: Outgoing) -> None:
    """The same string gets the same findings."""
    assert gate(each).findings == gate(each).findings


@settings(max_examples=60)
@given(OUTGOING)
def test_findings_point_into_the_text(each: Outgoing) -> None:
    """Every finding says where it is, in the text as it would leave."""
    text = "".join(segment.text for segment in each.segments)
    for finding in gate(each).findings:
        assert 0 <= finding.start <= finding.end <= len(text)


@pytest.mark.parametrize(
    "broken", [{"segments": None}, {"allow": frozenset({"tomorrow"}), "committing": False}, {"secrets": (None,)}]
)
def test_an_exception_inside_is_a_refusal(broken: dict[str, object]) -> None:
    """What the gate cannot read does not leave."""
    answer = gate(dataclasses.replace(outgoing("See you on Friday."), **broken))  # type: ignore[arg-type]
    assert answer.passed is None
    assert answer.findings[0].rule == "gate_error"


def test_text_that_is_no_text_is_refused() -> None:
    """A lone surrogate cannot be sent as bytes."""
    assert verdict("hello \ud83d").passed is None


@pytest.mark.parametrize("text", ["x" * 20_001, "".join(chr(0x4E00 + i) for i in range(600))])
def test_what_no_reply_looks_like_is_refused_unread(text: str) -> None:
    """Length and variety are bounded, so that the cost is."""
    assert [finding.rule for finding in verdict(text).findings] == ["no_reply"]


@pytest.mark.parametrize("text", ["a " * 5000, "(4) " * 2500, "AAA " * 2500])
def test_a_text_with_too_many_readings_is_refused(text: str) -> None:
    """A search that would not end soon ends in a refusal."""
    found = verdict(text, codes=("4729", "A4721"), committing=False)
    assert found.passed is None
    assert {"overload", "spelled"} & {finding.rule for finding in found.findings}


def test_a_finding_never_repeats_a_secret() -> None:
    """Neither a code nor another person's data stands in a finding, which is stored."""
    found = verdict("Punch in 4721, or ask at 512 555 0143.", codes=("4721",), others=("+1 512 555 0143",)).findings
    assert {finding.token for finding in found if finding.claim_class in {"access_code", "personal_data"}} == {"•••"}
    assert "4721" not in repr(outgoing("hi", codes=("4721",)))
