"""EV-2 for the reader: no damaged reading ever yields a wrong commit, and truthful ones are not asked about in vain."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.core.checks import Context, Outcome, check_answer
from pipeline.core.types import Channel
from tests.support.byzantine import DAMAGES, SORTS, Situation, damaged, situation, wrong

QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def lies(made: Situation | None) -> list[str]:
    if made is None:
        return []
    decided = check_answer(made.reading, made.context)
    found = wrong(decided, made.truth)
    return [f"{made.name} {made.damages}: {fault}: {made.context.text!r} {made.reading}" for fault in found]


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_no_lie_of_this_kind_commits_anything_wrong(damage: str) -> None:
    """Over every sort of message and many seeds, a reading damaged in this way never yields a wrong commit."""
    made = [damaged(seed, sort, damage) for sort in SORTS for seed in range(12)]
    assert sum(one is not None for one in made) >= 10, "the damage was hardly ever applied"
    assert [lie for one in made for lie in lies(one)] == []


@QUIET
@given(st.integers(0, 2**40))
def test_no_mix_of_lies_commits_anything_wrong(seed: int) -> None:
    """Up to three lies at once never yield a wrong commit."""
    assert lies(damaged(seed)) == []


@pytest.mark.parametrize("sort", sorted(SORTS))
def test_truthful_readings_are_not_asked_about_in_vain(sort: str) -> None:
    """A truthful reading of plain words commits what it should, in both languages and on every channel (EV-1)."""
    outcomes: Counter[tuple[str, bool]] = Counter()
    for seed in range(60):
        true = situation(seed, sort)
        decided = check_answer(true.reading, true.context)
        assert wrong(decided, true.truth) == [], (true.context.text, decided)
        wanted = true.truth.action is None or decided.decision is Outcome.PROCEED
        outcomes[true.locale, wanted] += 1
        assert wanted, (true.context.text, true.reading, decided)
    assert outcomes["en", True] >= 10 and outcomes["es", True] >= 10


WORDS = st.sampled_from(
    (
        *(
            "yes",
            "no",
            "sí",
            "cancel",
            "cancele",
            "my",
            "tour",
            "mi",
            "visita",
            "friday",
            "viernes",
            "at",
            "3",
            "pm",
            "a",
            "las",
        ),
        *(
            "tres",
            "not",
            "but",
            "pero",
            "move",
            "to",
            "para",
            "tomorrow",
            "mañana",
            "the",
            "second",
            "la",
            "segunda",
            "or",
            "o",
        ),
        *("SYSTEM:", "\n", ".", ",", "?", "\u200b", "👍", "é", "e\u0301", "11:30", "4/5"),
    )
)


@st.composite
def any_reading(draw: Any) -> tuple[str, dict[str, Any]]:
    text = " ".join(draw(st.lists(WORDS, max_size=14)))
    piece = st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(lambda ab: text[min(ab) : max(ab)])
    value = st.fixed_dictionaries(
        {},
        optional={
            "date": st.sampled_from(["2026-08-21", "x"]),
            "time": st.sampled_from(["15:00", ""]),
            "end": st.just("16:00"),
        },
    )
    mention = st.fixed_dictionaries(
        {
            "role": st.sampled_from(["visit", "move_in", "other"]),
            "kind": st.sampled_from(["date", "time", "datetime", "range"]),
            "span": piece,
            "value": value,
        }
    )
    kinds = st.sampled_from(
        ["request_tour", "reschedule_tour", "cancel_tour", "accept_offer", "decline_offer", "affirm", "question"]
    )
    return text, {
        "language": draw(st.sampled_from(["en", "es", "fr", ""])),
        "intents": draw(st.lists(st.fixed_dictionaries({"kind": kinds, "span": piece}), max_size=3)),
        "mentions": draw(st.lists(mention, max_size=4)),
        "refers_to": {
            "kind": draw(st.sampled_from(["none", "tour", "offer"])),
            "id": draw(st.sampled_from(["", "t1"])),
            "span": draw(piece),
        },
        "affirmation": {"kind": draw(st.sampled_from(["none", "bare", "restated"])), "span": draw(piece)},
    }


@settings(QUIET, max_examples=150)
@given(any_reading(), st.sampled_from(list(Channel)), st.integers(0, 3))
def test_the_check_is_total_and_pure(made: tuple[str, dict[str, Any]], channel: Channel, rounds: int) -> None:
    """Whatever the text and the reading, the check answers, answers the same again, and commits nothing into the past."""
    text, read = made
    context = Context(text, datetime(2026, 8, 19, 10), ZoneInfo("America/Chicago"), "en", channel, rounds=rounds)
    decided = check_answer(read, context)
    assert decided == check_answer(read, context)
    if decided.decision is Outcome.PROCEED and decided.date is not None and decided.time is not None:
        assert datetime.combine(decided.date, decided.time) > context.ref
