"""Speech: a gated answer is cut into sentences; none loses a word, cuts a fact, or is spoken without having passed (VO-2)."""

from __future__ import annotations

import re
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from pipeline.compose import Composed, Setting, outgoing
from pipeline.core.gate import Passed, Secret, gate
from pipeline.core.plan import Plan
from pipeline.core.segments import Fact, Prose, Segment, text_of
from pipeline.core.types import Purpose
from pipeline.speech import pieces, sentences

PLAN = Plan("test", "en", (), committing=True)


def setting(*before: str, secrets: tuple[Secret, ...] = ()) -> Setting:
    return Setting("voice", "prospect", Purpose.ANSWER, secrets, before, {}, datetime(2026, 7, 17, 9, 0), None)


def fact(text: str) -> Fact:
    return Fact("datetime", text, "r1", "starts_at", 1, "leasing.proposed", "en")


def composed(*segments: Segment, where: Setting | None = None) -> Composed:
    """An answer that has passed as a whole."""
    verdict = gate(outgoing(segments, PLAN, where or setting()))
    assert verdict.passed is not None, verdict.findings
    return Composed(verdict.passed, segments, verdict, "code")


WORDS = st.sampled_from(
    ["Thank you", "for calling", "St.", "e.g.", "¿Le parece", "¡Claro", "No.", "Really?", "…", '"Sure."', "(Yes.)", "\n", "  ", ". ", "3.5", ""]
)
PROSE = st.lists(WORDS, max_size=8).map(lambda words: Prose(" ".join(words)))
FACTS = st.sampled_from(["Monday, July 20. At 11 a.m.", "the 20th at 3", "A. B. C.", "Is it 5?"]).map(fact)
SEGMENTS = st.lists(PROSE | FACTS, max_size=8).map(tuple)


@given(SEGMENTS)
def test_every_word_is_kept_in_its_place(segments: tuple[Segment, ...]) -> None:
    """The sentences together are the answer, but for white space at their ends."""
    cut = sentences(segments)
    assert re.sub(r"\s+", "", "".join(text_of(sentence) for sentence in cut)) == re.sub(r"\s+", "", text_of(segments))
    assert all(text_of(sentence) == text_of(sentence).strip() != "" for sentence in cut)


@given(SEGMENTS)
def test_words_are_never_joined(segments: tuple[Segment, ...]) -> None:
    """Sentences joined by a blank have the answer's words."""
    assert " ".join(text_of(sentence) for sentence in sentences(segments)).split() == text_of(segments).split()


@given(SEGMENTS)
def test_a_fact_is_never_cut(segments: tuple[Segment, ...]) -> None:
    """Each fact stands whole in one sentence, whatever stops it has inside; order and number are the answer's."""
    cut = sentences(segments)
    assert [part for sentence in cut for part in sentence if isinstance(part, Fact)] == [s for s in segments if isinstance(s, Fact)]


def test_sentences_end_where_a_listener_expects_it() -> None:
    """A stop, a question mark or a Spanish opening mark parts sentences; a decimal point and a fact's own stops do not."""
    spoken = (Prose("Thank you. That is "), fact("Monday. At 3.5"), Prose(". Is that right? ¿Le parece bien?"))
    assert [text_of(sentence) for sentence in sentences(spoken)] == [
        "Thank you.", "That is Monday. At 3.5.", "Is that right?", "¿Le parece bien?",
    ]  # fmt: skip


def test_each_piece_has_passed_and_carries_its_facts() -> None:
    """What goes to the speaker is `Passed`, with the facts that must be heard to the end."""
    cut = pieces(composed(Prose("Thank you. I have "), fact("Monday at eleven"), Prose(" for you. Is that right?")), PLAN, setting())
    assert cut is not None
    assert [piece.text for piece in cut] == ["Thank you.", "I have Monday at eleven for you.", "Is that right?"]
    assert all(isinstance(piece.passed, Passed) for piece in cut)
    assert [[f["text"] for f in piece.facts] for piece in cut] == [[], ["Monday at eleven"], []]


@given(st.lists(st.sampled_from(["Thank you.", "Happy to help!", "Is that right?", "You can park outside."]), min_size=1, max_size=5))
def test_pieces_say_what_the_answer_says(said: list[str]) -> None:
    """The pieces joined are the text that passed."""
    whole = composed(Prose(" ".join(said)))
    cut = pieces(whole, PLAN, setting())
    assert cut is not None and " ".join(piece.text for piece in cut) == whole.passed.text


def test_one_refused_sentence_silences_all() -> None:
    """Where a sentence does not pass by itself, nothing of the answer is spoken."""
    whole = composed(Prose("Thank you. You can park outside."))
    told = Composed(whole.passed, (Prose("Thank you. "), Prose("It rents for $1,450 a month.")), whole.verdict, "draft")
    assert gate(outgoing(told.segments[1:], PLAN, setting())).passed is None
    assert pieces(told, PLAN, setting()) is None


def test_sentences_are_judged_with_what_was_said_before() -> None:
    """A secret in two halves is seen although each sentence alone is harmless: the ones before count as released (IN-3)."""
    code = Secret("access_code", "4471")
    halves = (Prose("It starts with forty four. "), Prose("Then comes seventy one."))
    whole = composed(Prose("Thank you."))
    assert pieces(Composed(whole.passed, halves, whole.verdict, "draft"), PLAN, setting(secrets=(code,))) is None
