"""`clara probe gate` asks the gate itself, and our own sentences pass it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from gateway.probes.gate import answer
from pipeline.core.segments import Prose
from tests.gate.says import CONFIRMED, PROPOSED, classes, fact

ROOT = Path(__file__).resolve().parents[2]
ROW = {
    "text": "See you at 3 pm.",
    "spans": [{"start": 11, "end": 15, "kind": "time"}],
    "locale": "en",
    "channel": "sms",
    "audience": "prospect",
    "committing": True,
    "tour_state": "CONFIRMED",
}


def test_a_span_is_a_fact() -> None:
    """The words inside pass, the same words without it do not."""
    assert answer(ROW) == {"verdict": "pass", "findings": []}
    bare = answer({**ROW, "spans": []})
    assert bare["verdict"] == "refuse"
    assert bare["findings"] == [
        {"claim_class": "date_time", "start": 11, "end": 15, "token": "3 pm", "rule": "outside_fact"}
    ]


def test_everything_of_a_row_is_heard() -> None:
    """Secrets, other people, what was sent before, what is allowed, and the reference."""
    secrets = [{"kind": "access_code", "value": "4721"}]
    quiet = {**ROW, "spans": [], "committing": False}
    assert answer({**quiet, "text": "It's 47 21.", "secrets": secrets})["verdict"] == "refuse"
    assert answer({**quiet, "text": "And 21.", "before": ["First 47."], "secrets": secrets})["verdict"] == "refuse"
    assert answer({**quiet, "text": "Ask ana@example.com.", "others": ["ana@example.com"]})["verdict"] == "refuse"
    assert answer({**quiet, "text": "Friday?", "allow": ["2026-08-21"]})["verdict"] == "pass"
    assert (
        answer(
            {**quiet, "text": "Tomorrow?", "allow": ["2026-08-19"], "ref": "2026-08-18T10:00", "tz": "America/Chicago"}
        )["verdict"]
        == "pass"
    )
    assert answer({**quiet, "text": "Tomorrow?", "allow": []})["verdict"] == "refuse"


@pytest.mark.parametrize(
    "amiss",
    [
        {"text": None},
        {"locale": 5},
        {"channel": "fax"},
        {"audience": "king"},
        {"spans": [{"start": 5, "end": 99, "kind": "date"}]},
        {"ref": "soon"},
    ],
)
def test_a_row_that_cannot_be_read_is_an_error(amiss: dict[str, Any]) -> None:
    """The probe says what is amiss and goes on."""
    with pytest.raises(ValueError, match="must"):
        answer({**ROW, **amiss})


def _sentences() -> list[tuple[str, str, str]]:
    """Every sentence of our own templates: name, locale, text."""
    files = [*ROOT.glob("pipeline/templates/*.toml"), *ROOT.glob("pipeline/domains/*/templates/*.toml")]
    return [
        (name, path.stem, template[form])
        for path in sorted(files)
        for name, template in tomllib.loads(path.read_text("utf-8")).items()
        for form in ("text", "spoken")
        if form in template
    ]


@pytest.mark.parametrize(("name", "locale", "text"), _sentences())
def test_our_own_sentences_pass(name: str, locale: str, text: str) -> None:
    """Templates are gated like drafts, at worst on a committing turn (CO-4, OG-1)."""
    parts: list[Any] = []
    for i, piece in enumerate(text.replace("}", "{").split("{")):
        parts.append(fact("datetime", "Tuesday, July 21 at 4:30 PM") if i % 2 else Prose(piece))
    assert classes(*parts, locale=locale, record=CONFIRMED) == set()
    if "confirmed" not in name and "stands" not in name and not name.endswith("cancelled"):
        assert classes(*parts, locale=locale, record=PROPOSED) == set()
