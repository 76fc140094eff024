"""`clara probe dates`: one row in, one answer out (UN-4)."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.probes.dates import answer

ROW: dict[str, Any] = {"text": "tomorrow at 3", "ref": "2026-08-18T10:00", "tz": "America/Chicago", "locale": "en"}


def test_a_resolved_row_holds_what_the_text_states_and_no_more() -> None:
    """Status, the keys that are stated, and the rules; no key for what was not said."""
    assert answer({**ROW, "text": "tomorrow at 3 pm"}) == {
        "status": "resolved",
        "date": "2026-08-19",
        "time": "15:00",
        "reasons": [],
    }
    assert answer({**ROW, "text": "mañana", "locale": "es"}) == {
        "status": "resolved",
        "date": "2026-08-19",
        "reasons": [],
    }


def test_an_ask_names_its_candidates() -> None:
    """The readings stand beside the rule that makes them two."""
    found = answer(ROW)
    assert found["status"] == "ask"
    assert found["candidates"] == [{"date": "2026-08-19", "time": "03:00"}, {"date": "2026-08-19", "time": "15:00"}]
    assert found["reasons"] == ["bare_hour"]


def test_opening_hours_settle_the_same_row() -> None:
    """The office's hours are read as in the property's settings."""
    found = answer({**ROW, "office_hours": {"wed": [["09:00", "18:00"]]}})
    assert (found["status"], found["time"]) == ("resolved", "15:00")


def test_a_row_without_an_expression_is_none() -> None:
    """No expression: a status, a reason, and nothing else."""
    assert answer({**ROW, "text": "ok"}) == {"status": "none", "reasons": ["no_reading"]}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"text": 3}, "'text'"),
        ({"text": None}, "'text'"),
        ({"ref": "yesterday"}, "'ref'"),
        ({"ref": 5}, "'ref'"),
        ({"tz": "America/Atlantis"}, "'tz'"),
        ({"tz": "../etc/passwd"}, "'tz'"),
        ({"tz": ""}, "'tz'"),
        ({"locale": ["en"]}, "'locale'"),
        ({"office_hours": []}, "'office_hours'"),
        ({"office_hours": {"mon": [["9", "18"]]}}, "'office_hours'"),
        ({"office_hours": {"mon": [["09:00"]]}}, "'office_hours'"),
        ({"office_hours": {"mon": 5}}, "'office_hours'"),
    ],
)
def test_an_unreadable_row_says_what_is_amiss(change: dict[str, Any], complaint: str) -> None:
    """The error is a sentence that names the field."""
    with pytest.raises(ValueError, match=complaint):
        answer({**ROW, **change})


def test_a_row_without_a_field_says_which() -> None:
    """A missing field is named like a wrong one."""
    with pytest.raises(ValueError, match="'tz'"):
        answer({key: value for key, value in ROW.items() if key != "tz"})
