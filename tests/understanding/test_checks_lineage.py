"""PR-1, PR-2, PR-4, PR-6: lineage, bare and restated yeses, first touch, calls."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from pipeline.core.checks import Action, AutoConfirm, Decided, Outcome
from pipeline.core.lineage import Lineage, lineage_of, takes_bare_yes, weaker
from pipeline.core.states import TourState
from pipeline.core.types import Channel
from tests.support.readings import check, offers, proposal, reading, tours, visit

BOTH = pytest.mark.parametrize("lang", ["en", "es"])
OVERRIDE = Lineage.MACHINE_DERIVED_OVERRIDE
READINGS = ("2026-08-24T13:00", "2026-08-20T13:00")
YES = {"en": "Yes", "es": "Sí"}


def bare(lang: str, **more: Any) -> Decided:
    read = reading("affirm", YES[lang], record=("proposal", "p1", YES[lang]), yes=("bare", YES[lang]), language=lang)
    return check(YES[lang], read, **more)


def restated(text: str, span: str, day: str, hour: str, lang: str, **more: Any) -> Decided:
    mention = visit(span, date=day, time=hour)
    read = reading("affirm", text, mention, record=("proposal", "p1", text), yes=("restated", text), language=lang)
    return check(text, read, **more)


@BOTH
def test_a_bare_yes_confirms_what_the_customer_stated(lang: str) -> None:
    """A bare yes confirms a proposal of the customer's own words, or one carried by a machine and restated by Clara (PR-2)."""
    for lineage in (Lineage.PROSPECT_STATED, Lineage.MACHINE_DERIVED):
        decided = bare(lang, proposals=(proposal("2026-08-24T13:00", lineage),))
        assert (decided.decision, decided.action, decided.state) == (
            Outcome.PROCEED,
            Action.CONFIRM,
            TourState.CONFIRMED,
        )
        assert decided.lineage is lineage


@BOTH
def test_a_bare_yes_on_an_override_asks_with_both_readings(lang: str) -> None:
    """A bare yes on an override asks once, naming both readings; the second one goes to a person (PR-2)."""
    first = bare(lang, proposals=(proposal(READINGS[0], OVERRIDE, READINGS),))
    assert (first.decision, first.about) == (Outcome.ASK, "restate")
    assert [one.to_json()["date"] for one in first.candidates] == ["2026-08-24", "2026-08-20"]
    second = bare(lang, proposals=(proposal(READINGS[0], OVERRIDE, READINGS, bare_yes=1),))
    assert (second.decision, second.about) == (Outcome.REVIEW, "restate")


@pytest.mark.parametrize(
    ("lang", "text", "span", "day"),
    [
        ("en", "Yes, Monday, August 24 at 1 pm", "Monday, August 24 at 1 pm", "2026-08-24"),
        ("en", "I meant tomorrow at 1 pm", "tomorrow at 1 pm", "2026-08-20"),
        ("es", "Sí, el 24 de agosto a la 1 de la tarde", "el 24 de agosto a la 1 de la tarde", "2026-08-24"),
        ("es", "quise decir mañana a la 1 de la tarde", "mañana a la 1 de la tarde", "2026-08-20"),
    ],
)
def test_own_words_upgrade_an_override(lang: str, text: str, span: str, day: str) -> None:
    """Either reading of an override, said again in the customer's own words, is confirmed as theirs (PR-2)."""
    decided = restated(text, span, day, "13:00", lang, proposals=(proposal(READINGS[0], OVERRIDE, READINGS),))
    assert (decided.decision, decided.action, decided.record) == (Outcome.PROCEED, Action.CONFIRM, "p1")
    assert str(decided.date) == day and decided.lineage is Lineage.PROSPECT_STATED


@BOTH
def test_a_restatement_must_single_out_one_reading(lang: str) -> None:
    """Own words that fit both readings, or none, do not upgrade an override (PR-2)."""
    text, span = {"en": ("Yes, at 1 pm", "at 1 pm"), "es": ("Sí, a la 1 de la tarde", "a la 1 de la tarde")}[lang]
    mention = visit(span, time="13:00")
    read = reading("affirm", text, mention, record=("proposal", "p1", text), yes=("restated", text), language=lang)
    both = check(text, read, proposals=(proposal(READINGS[0], OVERRIDE, READINGS),))
    assert (both.decision, both.about) == (Outcome.ASK, "restate")
    text, span = {
        "en": ("Yes, Friday at 1 pm", "Friday at 1 pm"),
        "es": ("Sí, el viernes a la 1 pm", "el viernes a la 1 pm"),
    }[lang]
    none = restated(text, span, "2026-08-21", "13:00", lang, proposals=(proposal(READINGS[0], OVERRIDE, READINGS),))
    assert none.decision is Outcome.ASK


@BOTH
def test_a_restatement_without_the_fact_is_a_bare_yes(lang: str) -> None:
    """A reading that calls a bare yes restated is not believed (PR-2)."""
    words = YES[lang]
    read = reading("affirm", words, record=("proposal", "p1", words), yes=("restated", words), language=lang)
    for lineage in Lineage:
        assert check(words, read, proposals=(proposal(READINGS[0], lineage, READINGS),)).decision is Outcome.ASK


@pytest.mark.parametrize(
    ("lang", "text", "span"),
    [
        ("en", "Friday at 3 pm I have a dentist appointment", "Friday at 3 pm"),
        ("en", "What happened to Friday at 3 pm", "Friday at 3 pm"),
        ("en", "I thought you said Friday at 3 pm", "Friday at 3 pm"),
        ("en", "we move in Friday at 3 pm", "Friday at 3 pm"),
        ("en", "Friday at 3 pm?", "Friday at 3 pm"),
        ("es", "el viernes a las 3 pm tengo dentista", "el viernes a las 3 pm"),
        ("es", "Pensé que dijo el viernes a las 3 pm", "el viernes a las 3 pm"),
        ("es", "nos mudamos el viernes a las 3 pm", "el viernes a las 3 pm"),
        ("es", "¿el viernes a las 3 pm?", "el viernes a las 3 pm"),
    ],
)
def test_saying_the_fact_is_not_confirming_it(lang: str, text: str, span: str) -> None:
    """Words that contain a proposal's slot without confirming it do not confirm it (PR-2)."""
    open_proposal = proposal("2026-08-21T15:00", OVERRIDE, ("2026-08-21T15:00", "2026-08-20T15:00"))
    assert restated(text, span, "2026-08-21", "15:00", lang, proposals=(open_proposal,)).decision is Outcome.ASK


def test_no_source_is_better_than_its_lineage() -> None:
    """Words of a source that is not admitted are machine-derived at best, and never CONFIRMED at first touch (PR-1, EV-4)."""
    text = "Could we tour the two bedroom today at 3 pm?"
    read = reading(
        "request_tour", "Could we tour the two bedroom", visit("today at 3 pm", date="2026-08-19", time="15:00")
    )
    decided = check(text, read, lineage=Lineage.MACHINE_DERIVED)
    assert (decided.state, decided.lineage, decided.about) == ("PROPOSED", "machine_derived", "restate")


def test_lineages_are_ordered_and_unknown_ones_are_the_weakest() -> None:
    """An unknown lineage is the weakest, and what needs two origins has the weaker one (PR-1)."""
    assert lineage_of("prospect_stated") is Lineage.PROSPECT_STATED and lineage_of("trusted") is OVERRIDE
    assert weaker(Lineage.PROSPECT_STATED, Lineage.MACHINE_DERIVED) is Lineage.MACHINE_DERIVED
    assert [takes_bare_yes(one) for one in Lineage] == [True, True, False]


# --- first touch --------------------------------------------------------------------------------------------------------

TODAY = {
    "en": ("Could we tour the two bedroom", "today at 3 pm"),
    "es": ("Podemos ver el departamento", "hoy a las 3 de la tarde"),
}


def today(lang: str, hedge: str = "", **more: Any) -> Decided:
    wish, span = TODAY[lang]
    mention = visit(span, date="2026-08-19", time="15:00")
    return check(f"{wish} {hedge}{span}", reading("request_tour", wish, mention, language=lang), **more)


@BOTH
def test_a_tour_today_is_confirmed_at_once_where_every_condition_holds(lang: str) -> None:
    """A same-day tour, stated, bookable, consistent, in hours and without a hedge is CONFIRMED at first touch (PR-4)."""
    assert today(lang).state is TourState.CONFIRMED
    assert today(lang, bookable=lambda start: True).state is TourState.CONFIRMED


@BOTH
@pytest.mark.parametrize(
    "more",
    [
        {"channel": Channel.VOICE},
        {"auto_confirm": AutoConfirm.NEVER},
        {"lineage": Lineage.MACHINE_DERIVED},
        {"office_hours": None},
        {"ref": datetime(2026, 8, 18, 10)},
    ],
    ids=["call", "setting", "lineage", "hours_unknown", "other_day"],
)
def test_without_one_condition_first_touch_is_proposed(lang: str, more: dict[str, Any]) -> None:
    """Where one condition fails, first touch is PROPOSED or a question, never CONFIRMED (PR-4)."""
    assert today(lang, **more).state is not TourState.CONFIRMED


@pytest.mark.parametrize(
    ("lang", "hedge"),
    [
        ("en", "maybe "),
        ("en", "around "),
        ("en", "perhaps "),
        ("es", "tal vez "),
        ("es", "quizás "),
        ("es", "a lo mejor "),
    ],
)
def test_a_hedge_is_proposed_and_asked_about(lang: str, hedge: str) -> None:
    """A hedged wish is PROPOSED with a restating question (PR-4)."""
    decided = today(lang, hedge)
    assert (decided.decision, decided.state, decided.about) == (Outcome.PROCEED, TourState.PROPOSED, "restate")


# --- calls --------------------------------------------------------------------------------------------------------------


@BOTH
def test_on_a_call_only_a_heard_read_back_confirms(lang: str) -> None:
    """On a call nothing is CONFIRMED before its read-back was heard to the mark and answered (PR-6)."""
    stated = (proposal("2026-08-24T13:00"),)
    assert bare(lang, proposals=stated, channel=Channel.VOICE).state is TourState.PROPOSED
    assert bare(lang, proposals=stated, channel=Channel.VOICE, heard="p2").state is TourState.PROPOSED
    assert bare(lang, proposals=stated, channel=Channel.VOICE, heard="p1").state is TourState.CONFIRMED


@BOTH
def test_a_bare_yes_to_a_heard_read_back_counts_as_restated(lang: str) -> None:
    """A bare yes to a heard read-back counts as restated, also on an override (PR-6)."""
    override = (proposal(READINGS[0], OVERRIDE, READINGS),)
    decided = bare(lang, proposals=override, channel=Channel.VOICE, heard="p1")
    assert (decided.decision, decided.lineage) == (Outcome.PROCEED, Lineage.PROSPECT_STATED)
    assert bare(lang, proposals=override, channel=Channel.SMS, heard="p1").decision is Outcome.ASK


@BOTH
def test_an_offer_taken_on_a_call_waits_for_its_read_back(lang: str) -> None:
    """An offer taken on a call is PROPOSED until its read-back was heard (PR-6)."""
    words = {"en": "yes please", "es": "sí por favor"}[lang]
    read = reading("accept_offer", words, record=("offer", "o1", words), yes=("bare", words), language=lang)
    one = offers("2026-08-20T11:00")
    assert check(words, read, offers=one, channel=Channel.VOICE).state is TourState.PROPOSED
    assert check(words, read, offers=one, channel=Channel.VOICE, heard="o1").state is TourState.CONFIRMED
    assert check(words, read, offers=one).state is TourState.CONFIRMED


def test_words_of_low_confidence_are_asked_about() -> None:
    """Evidence that the transcriber was unsure of is a question; other doubtful words are not (PR-6)."""
    text = "hi um could we tour the place friday at three pm"
    read = reading(
        "request_tour", "could we tour the place", visit("friday at three pm", date="2026-08-21", time="15:00")
    )
    at = text.index("three")
    assert check(text, read, channel=Channel.VOICE).decision is Outcome.PROCEED
    assert check(text, read, channel=Channel.VOICE, low_confidence=((0, 2),)).decision is Outcome.PROCEED
    doubtful = check(text, read, channel=Channel.VOICE, low_confidence=((at, at + 5),))
    assert doubtful.decision is Outcome.ASK and "heard_uncertainly" in doubtful.reasons


@BOTH
def test_a_yes_confirms_a_proposed_tour_on_record(lang: str) -> None:
    """A yes to a PROPOSED tour confirms it; to a CONFIRMED one it changes nothing (PR-4)."""
    read = reading("affirm", YES[lang], record=("tour", "t1", YES[lang]), yes=("bare", YES[lang]), language=lang)
    proposed = check(YES[lang], read, tours=tours("2026-08-25T12:00", state=TourState.PROPOSED))
    assert (proposed.action, proposed.record, proposed.state) == (Action.CONFIRM, "t1", TourState.CONFIRMED)
    assert check(YES[lang], read, tours=tours("2026-08-25T12:00")).decision is Outcome.NONE
