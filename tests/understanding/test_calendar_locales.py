"""A locale is a file: added without touching code, checked when it is read (UN-4, UN-8)."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from pipeline.core.calendar import supported_locales
from pipeline.core.calendar.detector import detect_in
from pipeline.core.calendar.phrasebook import PhraseBook, PhraseBookError, book, load, supported
from pipeline.core.calendar.resolver import resolve_in
from tests.understanding.calendar_help import CHICAGO, TUESDAY

PORTUGUESE = """
ordinal_suffix = ["o", "a"]

[weekday]
mon = ["segunda", "segunda-feira", "seg"]
tue = ["terça", "terça-feira", "ter"]
wed = ["quarta", "quarta-feira", "qua"]
thu = ["quinta", "quinta-feira", "qui"]
fri = ["sexta", "sexta-feira", "sex"]
sat = ["sábado", "sáb"]
sun = ["domingo", "dom"]

[month]
8 = ["agosto", "ago"]
9 = ["setembro", "set"]

[number]
1 = ["um", "uma"]
2 = ["dois", "duas"]
3 = ["três"]
4 = ["quatro"]
20 = ["vinte"]
compound = ["{tens} e {unit}"]

[part]
"00:00-12:00" = ["da manhã"]
"12:00-19:59" = ["da tarde"]
"18:00-04:59" = ["da noite"]

[relative_day]
0 = ["hoje"]
1 = ["amanhã"]
2 = ["depois de amanhã"]

[relative_week]
1 = ["a próxima semana", "semana que vem"]

[unit]
day = ["dia", "dias"]
week = ["semana", "semanas"]

[units]
units = ["{n:count} {unit}"]

[count]
one = ["uma", "um"]
number = ["{number}"]

[minute]
number = ["{number}"]

[month_day]
number = ["{number}"]

[turned]
half_past = ["{hour} e meia"]

[written]
date = ["{day:month_day} de {month} [de {year}]", "dia {day:month_day}"]

[anchor]
next = ["próxima|próximo {weekday}", "{weekday} que vem"]

[day]
next = ["próxima|próximo {weekday}", "{weekday} que vem"]
from_now = ["em {length}", "daqui a {length}"]

[period]
week_from_monday = ["{ahead:relative_week}"]

[link]
joiner = ["na", "no", "em", "de"]
at = ["às", "as", "à"]
opener = ["das", "entre"]
until = ["até", "às", "-"]
and = ["e"]
or = ["ou"]
hedge = ["talvez"]
"""


@pytest.fixture
def portuguese(tmp_path: Path) -> PhraseBook:
    """The Portuguese book, read from a folder that holds nothing else."""
    (tmp_path / "pt.toml").write_text(PORTUGUESE, encoding="utf-8")
    found = book("pt-BR", tmp_path)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("span", "value"),
    [
        ("hoje", {"date": "2026-08-18"}),
        ("depois de amanhã", {"date": "2026-08-20"}),
        ("sexta-feira", {"date": "2026-08-21"}),
        ("segunda que vem", {"date": "2026-08-24"}),
        ("vinte e um de agosto", {"date": "2026-08-21"}),
        ("21 de setembro de 2026", {"date": "2026-09-21"}),
        ("sexta 21 às três e meia da tarde", {"date": "2026-08-21", "time": "15:30"}),
        ("amanhã às 15:00", {"date": "2026-08-19", "time": "15:00"}),
        ("daqui a duas semanas", {"date": "2026-09-01"}),
        ("2026-08-20", {"date": "2026-08-20"}),
        ("semana que vem", {"start": "2026-08-24", "end": "2026-08-30"}),
    ],
)
def test_a_third_locale_is_one_file(portuguese: PhraseBook, span: str, value: dict[str, str]) -> None:
    """A phrase book in a folder of its own resolves its language, notations of all languages included."""
    found = resolve_in(portuguese, span, TUESDAY, CHICAGO)
    assert found.value is not None
    assert found.value.to_json() == value


@pytest.mark.parametrize("span", ["próxima sexta", "terça", "sexta às 3", "sexta ou sábado", "segunda 20"])
def test_a_third_locale_asks_by_the_same_rules(portuguese: PhraseBook, span: str) -> None:
    """What is open in one language is open in the next, without a line of code."""
    assert resolve_in(portuguese, span, TUESDAY, CHICAGO).status == "ask"


def test_a_third_locale_is_found_in_running_text(portuguese: PhraseBook) -> None:
    """The detector reads the same book."""
    text = "Posso ver o apartamento amanhã às 15:00?"
    assert [text[e.start : e.end] for e in detect_in(text, (portuguese,))] == ["amanhã", "15:00"]


def test_the_shipped_locales_are_english_and_spanish() -> None:
    """A book in another folder does not make a locale supported."""
    assert supported_locales() == ("en", "es")


def test_a_folder_lists_its_own_books(tmp_path: Path) -> None:
    """The books of a folder are the files in it; the common notations are no locale."""
    for name in ("pt.toml", "common.toml", "notes.txt"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert supported(tmp_path) == ("pt",)


@pytest.mark.parametrize("locale", ["xx", "", "-", "../en", "en.toml", "\u0435n"])
def test_a_name_without_a_file_is_no_locale(locale: str) -> None:
    """Any name may be asked for; only books in the folder are found."""
    found = book(locale)
    assert found is None or found.locale == "en"


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("[day", "not readable"),
        ("[days]\nrelative = []", "no such table"),
        ('[day]\nsomeday = ["x"]', "no such meaning"),
        ('[weekday]\nfunday = ["x"]', "not a value"),
        ('[day]\nafter_today = ["coming"]', "slots must be weekday"),
        ('[day]\nafter_today = ["{weekday} {days:relative_day}"]', "slots must be weekday"),
        ('[day]\nafter_today = ["coming {weekday:planet}"]', "no such part"),
        ('[day]\nplain = ["{day} again"]', "begins with its own part"),
        ('[day]\nnow = ["[now]"]', "may not be empty"),
        ('[day]\nnow = ["(now"]', "no ')'"),
        ('[day]\nnow = ["[now"]', "no ']'"),
        ('[day]\nnow = ["now)"]', "unexpected ')'"),
        ('[day]\nnow = ["now|"]', "ends too early"),
        ('[day]\nnow = ["at 12"]', "table `fused`"),
    ],
)
def test_a_book_with_a_mistake_does_not_load(source: str, complaint: str) -> None:
    """The message names the table, the phrase and what is wrong with it."""
    with pytest.raises(PhraseBookError) as caught:
        load("xx", source)
    assert complaint in str(caught.value)
    assert str(caught.value).startswith("xx: ")


def test_words_with_digits_are_words_where_a_book_says_so() -> None:
    """A fused word such as 2moro is one token, and the digit in it is no number."""
    english = book("en")
    assert english is not None
    assert [token.key for token in english.tokens("2moro 2 24/7")] == ["2moro", "#1", "24/7"]
    found = resolve_in(english, "2moro at 3pm", datetime(2026, 8, 18, 10), CHICAGO)
    assert found.value is not None
    assert found.value.to_json() == {"date": "2026-08-19", "time": "15:00"}
