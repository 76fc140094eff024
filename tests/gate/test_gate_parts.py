"""The parts that the gate is made of: folding, the pattern language, the spelling of values (OG-2, OG-3, OG-5)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.gate.folding import FACT, blank, fold
from pipeline.core.gate.lexicon import lexicon
from pipeline.core.gate.shapes import shapes
from pipeline.core.gate.spelling import Budget, Overload, Spelling
from pipeline.core.gate.values import spelled, targets


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("Ｋ７Ｑ２", "K7Q2"),
        ("④⑧②⓪", "4820"),
        ("৬০৯৩", "6093"),
        ("6\u03360\u03369\u0336", "609"),
        ("ЗЗб182", "336182"),
        ("⁷¹⁴⁹", "7149"),
        ("四七二一", "4721"),
        ("l\u200bo\u00adw", "low"),
        ("Mañana, ¿sí?", "Manana, ¿si?"),
        ("“hi” – it’s…", '"hi" - it\'s.'),
        ("🅺🄺🇰", "KKK"),
        ("Ⅳ", "IV"),
    ],
)
def test_folding_takes_every_disguise_of_a_character_away(written: str, plain: str) -> None:
    """Digits of any script, look-alikes, marks, invisible characters, typography."""
    assert fold(written).plain == plain


@settings(max_examples=60)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_folding_knows_where_everything_came_from(text: str) -> None:
    """Each folded character has its place in the original, in order; folding twice changes nothing more."""
    folded = fold(text)
    assert len(folded.plain) == len(folded.lower) == len(folded.origin)
    assert list(folded.origin) == sorted(folded.origin)
    assert all(0 <= at < len(text) for at in folded.origin)
    assert fold(folded.plain).plain == folded.plain


def test_blanking_keeps_every_place() -> None:
    """A blanked fact is as long as the fact."""
    assert blank("on Tuesday at 3", [(3, 10, "date")]) == f"on {FACT * 7} at 3"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("It isn't set.", " it is n't set . "),
        ("I can't, y'all!", " i ca n't , y 'all ! "),
        ("about fifteen hundred and two", " about ## "),
        ("twelve fifty, or twenty one", " ## , or # "),
        ("one moment", " one moment "),
        ("$1,450 now", " $ ## now "),
        ("Call 911", " call 911 "),
        ("Mr. Chen", " mr chen "),
        ("line\nbreak", " line ; break "),
        ("Llamé. Llame.", " llamé . llame . "),
        ("Sí, si quiere", " sí , si quiere "),
        ("#5 @home", " № # ¤ home "),
        ("move-in day", " move in day "),
    ],
)
def test_a_text_becomes_a_line_of_tokens(text: str, line: str) -> None:
    """Contractions apart, numbers as one token, sentence ends kept, a final accent kept (it tells "I called" from "call")."""
    assert lexicon().words(fold(text)).line == line


def test_a_token_line_knows_its_places() -> None:
    """A mention points into the text as it was written."""
    text = "We’ve ﬁxed about fifteen hundred"
    words = lexicon().words(fold(text))
    start = words.line.index("##")
    low, high = words.place(start, start + 3)
    assert text[low:high] == "fifteen hundred"


def _spells(text: str, value: str) -> bool:
    return spelled(Spelling(fold(text).plain, Budget(1000)), targets((value,))) is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("forty-seven twenty-one", "4721"),
        ("four thousand seven hundred and twenty-one", "4721"),
        ("forty-seven hundred twenty-one", "4721"),
        ("cuatro mil setecientos veintiuno", "4721"),
        ("cuarenta y siete, veintiuno", "4721"),
        ("double eight three zero", "8830"),
        ("two eights, three, oh", "8830"),
        ("K as in kite, seven, Q for queen, two", "K7Q2"),
        ("K de kilo, siete, Q de queso, dos", "K7Q2"),
        ("cue seven kay two", "Q7K2"),
        ("top middle, bottom middle, middle row right, dead center", "2065"),
        ("arriba en medio, abajo en medio, segunda fila a la derecha, el centro", "2065"),
        ("fourseventwoone", "4721"),
        ("IV, VII, II, I", "4721"),
        ("to won ate seven", "2187"),
        ("quatre sept deux un", "4721"),
        ("four, 4, seven, seven, two, one", "4721"),
    ],
)
def test_a_value_is_read_along_the_edges(text: str, value: str) -> None:
    """Every way to say it is a path."""
    assert _spells(text, value)
    assert not _spells(text, "5932")


@pytest.mark.parametrize(
    "text", ["four homes, seven yards, two gates and one pool", "unit 47 is near the 21 bus", "47 or rather 21"]
)
def test_other_words_end_a_path(text: str) -> None:
    """What stands apart is not one value."""
    assert not _spells(text, "4721")


def test_a_search_has_a_budget() -> None:
    """A text with too many readings ends the search, it does not outlast it."""
    with pytest.raises(Overload):
        spelled(Spelling("A " * 400, Budget(100)), targets(("AAAA1",)))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Hi {{name}}", "placeholder"),
        ("Hi {name}", "placeholder"),
        ("Dear [Your name]", "placeholder"),
        ("your tour_id", "identifier"),
        ("0191f3a2-7c1e-7d52-9a35-5b2b6c0e2f11", "identifier"),
        ("<b>hi</b>", "markup"),
        ("# Summary", "markup"),
        ("call book()", "call"),
        ("x = 3", "assignment"),
        ("KeyError: 'x'", "trace"),
        ("DELETE everything FROM tours", "sql"),
        ("assistant: hi", "role"),
        ("undefined", "literal"),
        ("see /var/log", "path"),
        ("\u202e4721", "hidden"),
    ],
)
def test_internals_show_by_their_shape(text: str, rule: str) -> None:
    """In no language does a reply look like this (OG-4)."""
    assert rule in {found for found, _, _ in shapes(text)}


@pytest.mark.parametrize(
    "text",
    [
        "Write to leasing_office@alder.example, please.",
        "See https://alder.example/tours?unit=4b&lang=es for photos.",
        "It's 3/4 mile (about 15 minutes) away - an easy walk.",
        "Pets: yes. Parking: also yes!",
        "“Alder Court” is the one with the blue door…",
        "¿Le gustaría verlo? ¡Con gusto!",
    ],
)
def test_ordinary_punctuation_is_no_shape(text: str) -> None:
    """Addresses, links, quotes and dashes pass."""
    assert list(shapes(text)) == []
