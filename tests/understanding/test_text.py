"""How texts are compared and where a span stands (UN-2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.text import find_span, normalise


@pytest.mark.parametrize(
    ("seen", "same"),
    [
        ("Friday", "FRIDAY"),
        ("  next\t\n Friday ", "next friday"),
        ("9\u202fam", "9 am"),
        ("caf\u00e9", "cafe\u0301"),
        ("o\u2019clock", "o'clock"),
        ("o\u00b4clock", "o'clock"),
        ("2\u20134 pm", "2-4 pm"),
        ("\u201cFriday\u201d", '"friday"'),
        ("tomor\u00adrow", "tomorrow"),
        ("Fri\u200bday", "friday"),
        ("\uff13\uff30\uff2d", "3pm"),
        ("stra\u00dfe", "STRASSE"),
        ("\ufb01rst", "first"),
    ],
)
def test_spellings_that_look_alike_have_one_normal_form(seen: str, same: str) -> None:
    """Case, white space, compositions, quotes, dashes and invisible characters do not tell two texts apart."""
    assert normalise(seen) == normalise(same)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Friday", "Fr\u0456day"), ("May 5", "M\u0430y 5"), ("3 pm", "\u0417 pm"), ("a\u00f1o", "ano"), ("1/2", "\u00bd")],
)
def test_look_alike_letters_stay_apart(one: str, other: str) -> None:
    """A Cyrillic letter is not the Latin one that it looks like, and an accent is not nothing."""
    assert normalise(one) != normalise(other)


@given(st.text(max_size=60))
def test_the_normal_form_is_its_own_normal_form(text: str) -> None:
    """Normalising twice is normalising once, for any text."""
    assert normalise(normalise(text)) == normalise(text)


def test_a_span_is_found_with_offsets_into_the_text_as_given() -> None:
    """Offsets are those of the customer's own characters, whatever the normal form did to them."""
    text = "Hi,\u00a0could  I come on\n\uff26riday \u2014 say, 3\u202fPM?"
    place = find_span(text, "friday - say, 3 pm")
    assert place is not None
    assert text[slice(*place)] == "\uff26riday \u2014 say, 3\u202fPM"


def test_the_occurrence_picks_the_place() -> None:
    """The second occurrence of a span is another place, and one that does not exist is none."""
    text = "Friday at 3, or Friday at 4"
    assert find_span(text, "friday") == (0, 6)
    assert find_span(text, "friday", 2) == (16, 22)
    assert find_span(text, "friday", 3) is None
    assert find_span(text, "friday", 0) is None


@pytest.mark.parametrize(
    ("text", "span"), [("at \u00bd past", "1"), ("\ufb01rst", "i"), ("Fr\u0456day", "friday"), ("Friday", " ")]
)
def test_no_character_is_cut_and_no_look_alike_passes(text: str, span: str) -> None:
    """A span inside one character, in other letters, or of white space alone stands nowhere."""
    assert find_span(text, span) is None


@given(st.text(max_size=40), st.integers(0, 40), st.integers(1, 12))
def test_what_stands_in_a_text_is_found_in_it(text: str, start: int, length: int) -> None:
    """Each piece of ordinary text is found, and what is found there has the same normal form."""
    plain = "".join(
        char for char in text if char.isalnum() and normalise(char) == char.casefold() and len(char.casefold()) == 1
    )
    span = plain[start : start + length]
    place = find_span(plain, span)
    if not normalise(span):
        assert place is None
    else:
        assert place is not None
        assert normalise(plain[slice(*place)]) == normalise(span)


@given(st.text(max_size=200), st.text(max_size=20), st.integers(-1, 4))
def test_finding_never_raises(text: str, span: str, occurrence: int) -> None:
    """Any text may be searched for any span; a place that is found lies inside the text."""
    place = find_span(text, span, occurrence)
    assert place is None or 0 <= place[0] < place[1] <= len(text)
