"""Observed or enforced, class by class (OG-6), and where a fact comes from (OG-5, IN-2)."""

from __future__ import annotations

import pytest

from pipeline.core.gate import CLASSES, NEVER_LOWERED, RecordState
from tests.gate.says import CONFIRMED, PROPOSED, classes, fact, verdict

OBSERVED = dict.fromkeys(CLASSES, "observe")


def test_an_observed_class_blocks_nothing() -> None:
    """The finding is reported, the string leaves."""
    answer = verdict("The rent is 1,250 a month.", modes={"amount": "observe"})
    assert answer.passed is not None
    assert {(finding.claim_class, finding.enforced) for finding in answer.findings} == {("amount", False)}


def test_other_classes_enforce_beside_an_observed_one() -> None:
    """Modes are per class; a class that is not named enforces."""
    answer = verdict("The rent is 1,250 a month, said the database.", modes={"amount": "observe"})
    assert answer.passed is None
    assert {finding.claim_class for finding in answer.findings if finding.enforced} == {"narration"}


def test_without_modes_every_class_enforces() -> None:
    """Tests and the simulator run so."""
    assert verdict("The rent is 1,250 a month.", modes=None).passed is None


@pytest.mark.parametrize(
    ("text", "claim_class"),
    [("Just punch in 4721.", "access_code"), ("Ask Maria at maria.lopez@example.com.", "personal_data")],
)
def test_codes_and_personal_data_are_never_lowered(text: str, claim_class: str) -> None:
    """No mode, and so no human override either, lets them out (RV-5, IN-3)."""
    assert claim_class in NEVER_LOWERED
    assert verdict(text, codes=("4721",), others=("maria.lopez@example.com",), modes=OBSERVED).passed is None


def test_confirmation_is_never_lowered_while_the_record_is_proposed() -> None:
    """PROPOSED is never called confirmed, whatever the modes say (PR-5, IN-5)."""
    assert verdict("Your tour of the loft is confirmed.", record=PROPOSED, modes=OBSERVED).passed is None
    assert verdict("Your tour of the loft is confirmed.", record=CONFIRMED, modes=OBSERVED).passed is not None


def test_a_fact_names_its_source() -> None:
    """Words that no record vouches for are no fact, whoever calls them one."""
    nameless = fact("date", "Tuesday, July 21")
    unsourced = type(nameless)("date", "Tuesday, July 21", "", "date", 1, "", "en")
    assert "provenance" in classes("See you on ", unsourced, ".", record=CONFIRMED)
    assert classes("See you on ", nameless, ".", record=CONFIRMED) == set()


def test_a_fact_of_another_version_is_refused() -> None:
    """What is sent agrees with the record at the version of its commit (IN-2)."""
    record = RecordState("CONFIRMED", id="tour-1", version=3)
    assert "provenance" in classes("See you on ", fact("date", "Tuesday, July 21", 2), ".", record=record)
    assert classes("See you on ", fact("date", "Tuesday, July 21", 3), ".", record=record) == set()
