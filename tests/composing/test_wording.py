"""What code writes about a record, and that it reads back as the same record (CO-2, CO-4, PR-5)."""

from __future__ import annotations

from datetime import date, datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.compose import place
from pipeline.core import wording
from pipeline.core.calendar import resolve
from pipeline.core.segments import Fact, Prose, text_of
from pipeline.core.templates import FactSource, Templates, fact_free

TEMPLATES = Templates(("pipeline.templates", "pipeline.domains.leasing.templates"))
REF = datetime(2026, 7, 17, 9, 12)
CHICAGO = ZoneInfo("America/Chicago")
HOURS = {day: ((time(9), time(18)),) for day in ("mon", "tue", "wed", "thu", "fri", "sat", "sun")}
SLOTS = st.builds(
    lambda offset, half: datetime.combine(date.fromordinal(REF.toordinal() + offset), time(9 + half // 2, 30 * (half % 2))),
    st.integers(1, 60), st.integers(0, 17),
)  # fmt: skip


@given(slot=SLOTS, locale=st.sampled_from(("en", "es")), spoken=st.booleans())
def test_a_written_or_spoken_slot_reads_back_as_itself(slot: datetime, locale: str, spoken: bool) -> None:
    """Weekday, date and time of any slot resolve to that slot, or to a question, never to another (CO-2, UN-4)."""
    said = wording.slot(slot, locale, spoken)
    found = resolve(said, REF, CHICAGO, locale, HOURS)
    if found.status == "resolved":
        assert found.value is not None and (found.value.date, found.value.time) == (slot.date(), slot.time()), said
    else:
        assert found.status == "ask", said


@pytest.mark.parametrize(
    ("locale", "spoken", "expected"),
    [
        ("en", False, "Friday, July 17 at 1:00 PM"),
        ("en", True, "Friday, July seventeenth, at one in the afternoon"),
        ("es", False, "viernes 17 de julio a la 1:00 p. m."),
        ("es", True, "viernes diecisiete de julio a la una de la tarde"),
    ],
)
def test_the_forms_of_a_slot(locale: str, spoken: bool, expected: str) -> None:
    """Texts have figures, calls have words, so that the string that was gated is the string that is spoken."""
    assert wording.slot(datetime(2026, 7, 17, 13), locale, spoken) == expected


def test_every_template_exists_in_every_locale() -> None:
    """A locale has all sentences or is not supported at all (UN-8)."""
    assert TEMPLATES.locales() == {"en", "es"} == set(wording.locales())
    assert len(TEMPLATES.all()) == 2 * len({template.id for template in TEMPLATES.all()})


def test_both_locales_state_the_same_places() -> None:
    """A sentence states the same facts in each language."""
    for template in TEMPLATES.all():
        assert template.places == TEMPLATES.get(template.id, "en").places, template.id


@pytest.mark.parametrize("name", ["fallback", "holding", "holding_bilingual", "floor", "late_line", "opted_out", "human_on_the_way"])
@pytest.mark.parametrize("locale", ["en", "es"])
def test_fixed_texts_assert_nothing(name: str, locale: str) -> None:
    """Holding, fallback and floor texts interpolate the property's name and public phone and nothing else (CO-4)."""
    assert fact_free(TEMPLATES.get(name, locale))


def test_a_value_is_a_fact_and_the_words_around_it_are_prose() -> None:
    """Each place becomes a fact with its record, version and template; the fixed words stay prose for the gate to judge (OG-2)."""
    source = FactSource("leasing.confirmed", "tour-1", 3, {"property": "Camellia Court", "slot": "2026-07-17T13:00", "address": "1450 Camellia Street"})
    segments = TEMPLATES.render(source, "es")
    facts = [segment for segment in segments if isinstance(segment, Fact)]
    assert [(fact.kind, fact.record, fact.version) for fact in facts] == [(kind, "tour-1", 3) for kind in ("name", "datetime", "address")]
    assert text_of(segments).endswith("a la 1:00 p. m. La dirección es 1450 Camellia Street.")


def test_a_template_without_its_values_does_not_render() -> None:
    """A missing value is an error, never a gap in a sentence."""
    with pytest.raises(KeyError):
        TEMPLATES.render(FactSource("leasing.confirmed", "tour-1", 1, {"property": "X"}), "en")


FACTS = [(Fact("datetime", "Friday", "r", "slot", 1, "t", "en"),), (Fact("name", "Court", "r", "property", 1, "t", "en"),)]


@pytest.mark.parametrize(
    "draft",
    ["no marks at all", "{{F1}} only", "{{F1}} and {{F2}} and {{F1}}", "{{F1}} {{F2}} {{F3}}", "{{F1}} {{F2}} and F3", "{{F1}} {{F2}} {", "{{F0}} {{F1}} {{F2}}"],
)
def test_a_draft_that_misplaces_a_mark_does_not_count(draft: str) -> None:
    """Every mark exactly once and nothing that looks like one beside it; otherwise code's own sentences are the message (CO-2)."""
    assert place(draft, FACTS) is None


def test_a_good_draft_holds_the_facts_in_their_places() -> None:
    """The model's words stand around what code rendered, character for character."""
    placed = place("Hi! {{F2}} on {{ F1 }}.", FACTS)
    assert placed == (Prose("Hi! "), *FACTS[1], Prose(" on "), *FACTS[0], Prose("."))
