"""UN-4, UN-5: cue words are data per locale, found wherever a text writes them."""

from __future__ import annotations

import tomllib
import unicodedata
from importlib import resources

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.core.calendar import supported_locales
from pipeline.core.cues import CueText

FILES = {
    file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8"))
    for file in resources.files("pipeline.core.cues").iterdir()
    if file.name.endswith(".toml")
}


def test_every_locale_has_every_list() -> None:
    """Each locale of the calendar has a file of cues, and all files have the same lists, none of them empty."""
    assert set(FILES) == set(supported_locales())
    names = {name for lists in FILES.values() for name in lists}
    assert all(set(lists) == names and all(lists.values()) for lists in FILES.values())


@pytest.mark.parametrize("locale", sorted(FILES))
def test_cues_are_written_as_they_are_compared(locale: str) -> None:
    """Phrases are lower case and without apostrophes, which is how texts are compared with them."""
    for name, phrases in FILES[locale].items():
        for phrase in [p for group in phrases.values() for p in group] if name == "ordinals" else phrases:
            assert phrase == phrase.lower().strip() and "'" not in phrase, (name, phrase)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I CAN\u2019T make it", "CAN\u2019T"),
        ("i cant make it", "cant"),
        ("I can't make it", "can't"),
        ("Me mud\u00e9, digo, la MUDANZA es hoy", "MUDANZA"),
        ("nos quere" + "mos mudar pronto", "mudar"),
        ("a lo mejor", "a lo mejor"),
        ("QUIZ\u00c1S", "QUIZ\u00c1S"),
        ("quiza\u0301s", "quiza\u0301s"),
    ],
)
def test_case_accents_and_apostrophes_do_not_hide_a_cue(text: str, words: str) -> None:
    """A cue is found whatever the case, the accents or the apostrophe, at its place in the text as given."""
    hits = CueText(text).hits("excluded", "move_in", "unsure")
    assert words in [text[hit.start : hit.end] for hit in hits]


def test_a_longer_cue_hides_the_shorter_ones_inside_it() -> None:
    """ "Come by" is a visit and no limit; "move my tour" is a move and no move-in."""
    by = "can I come by Friday"
    assert [by[h.start : h.end] for h in CueText(by).hits("visit", "bound_before")] == ["come by"]
    assert CueText("by Friday").has("bound_before")


def test_an_accent_in_a_cue_is_meant() -> None:
    """A phrase written with an accent stands for that spelling only: "cancelé" tells, "cancele" asks."""
    assert CueText("cancelé mi cita").has("cancel_not") and not CueText("cancele mi cita").has("cancel_not")
    assert CueText(unicodedata.normalize("NFD", "cancelé mi cita")).has("cancel_not")


PIECES = st.sampled_from(
    ("not ", "Move in ", "visita ", "\u00bfno? ", "e\u0301", "\n", "👍", "\ufb01", "İ", "ß ", "can\u2019t ")
)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_places_are_inside_the_text(text: str) -> None:
    """Whatever the text, hits lie inside it, in order, and none is empty."""
    hits = CueText(text).hits("negation", "move_in", "visit", "yes", "excluded")
    assert all(0 <= hit.start < hit.end <= len(text) for hit in hits)
    assert list(hits) == sorted(hits, key=lambda hit: (hit.start, -hit.end, hit.kind))
