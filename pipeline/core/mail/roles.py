"""What is new in a mail: each line gets one role, and only `new` lines may be evidence (UN-2).

A reply carries its own history: what we wrote, what the sender wrote before, who wrote when, a signature, a legal
notice. All of it is full of dates, and none of it is what the person asks now. The labeller reads the lines from the
top and looks for the place where history begins:

* a line marked with ">" (or, from HTML, a line out of a quoted element) is history wherever it stands;
* an *announcement* (attribution, header block, "Original Message", forward mark, our own reply marker) is history, and
  so is all that follows it up to the end, unless what follows is marked line by line: then the marks decide, and
  unmarked text between or below them is an answer in place;
* text that equals what we sent in this thread is history even where nothing announces it;
* what remains is new, less signatures, legal notices and gateway banners.

Invariants: fails closed (in doubt a line is history, which leads to a question, never to a wrong date); roles cover
the whole text, with offsets into it; time is linear in the text, with bounded work per line; text past the limits
below is history; new stretches that history separates are never joined into one (`GAP` stands between them).
Pure: no I/O, no clock. It never repairs, translates or re-orders what was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from pipeline.core.mail import phrases
from pipeline.core.text import normalise

MAX_CHARS: Final = 1_000_000
MAX_LINES: Final = 5_000
GAP: Final = "[…]"
_MATCHED: Final = 600  # characters of a line that are looked at
_JOINED: Final = 6  # lines over which an attribution may be wrapped
_MAX_TRIES: Final = 2_000  # stretches tried as announcements; a mail written by people needs a few dozen
_LONG: Final = ("to", "cc", "subject", "from")  # headers whose value may run over several lines
_OWN_CHARS: Final = 100_000
_OWN_LINE: Final = 20_000
_OWN_RUN: Final = 12  # words in a row that nobody repeats by chance
_SHINGLE: Final = 4  # words in a row that make text recognisable as ours


class Role(StrEnum):
    """What a line is to the reader of a mail."""

    NEW = "new"
    SIGNATURE = "signature"
    ATTRIBUTION = "attribution"
    QUOTED = "quoted"
    FORWARDED = "forwarded"
    FOOTER = "footer"


@dataclass(frozen=True, slots=True)
class Line:
    """One line (or a part of one) without its line break; `start`, `end` are offsets into the labelled text."""

    text: str
    role: Role
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Labelled:
    """All lines of a mail in order, and the new ones joined (`GAP` where history was taken out between them)."""

    lines: tuple[Line, ...]
    new_text: str


@dataclass(slots=True)
class _Row:
    """A line on its way to a role."""

    text: str
    start: int
    core: str
    quoted: bool
    role: Role | None = None
    opens: bool = False
    """Whether it begins a paragraph."""
    hints: int = -1
    """What `phrases.hints` says of it, once asked."""
    said: list[str] | None = None
    """Its words in normal form, once asked."""
    label: tuple[str, str] | Literal[False] | None = False
    """The header-like label and its value, None for none, False where nobody asked."""


_BREAKS: Final = "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_BLANK = re.compile("[\u00a0\u202f\u2007\u3000]")
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"[.!…]\s*$")
_TERMINAL = (".", "?", "!", ":", "…", ";", '"', ")", "”")


def label(text: str, sent: Sequence[str] = ()) -> Labelled:
    """The roles of the lines of a plain-text mail body; `sent` are the bodies that we sent in this thread."""
    return label_marked(text, (), sent)


def label_marked(text: str, marks: Sequence[Role | None], sent: Sequence[str] = ()) -> Labelled:
    """As `label`, for text whose n-th line is known to be quoted or a signature where `marks[n]` says so (from HTML)."""
    rows = _rows(text, marks)
    beyond = rows.pop() if rows and rows[-1].role is Role.QUOTED else None
    _mark_history(rows)
    _mark_wrapped_quotes(rows)
    _mark_own(rows, sent)
    _mark_endings(rows)
    return _labelled([*rows, beyond] if beyond else rows)


def _rows(text: str, marks: Sequence[Role | None]) -> list[_Row]:
    """The lines of the text; what lies beyond the limits is one last row, already history."""
    rows: list[_Row] = []
    at = 0
    blank = True
    for number, raw in enumerate(text[:MAX_CHARS].splitlines(keepends=True)):
        if number >= MAX_LINES:
            break
        line = raw.rstrip(_BREAKS)
        core = line[:_MATCHED].strip() if line.isascii() else _core(line[:_MATCHED])
        mark = marks[number] if number < len(marks) else None
        quoted = mark is Role.QUOTED or (core[:1] == ">" and not phrases.is_unmarked(core))
        role = Role.SIGNATURE if mark is Role.SIGNATURE and core else None
        rows.append(_Row(line, at, core, quoted, role, opens=blank and bool(core)))
        at += len(raw)
        blank = not core
    if at < len(text):
        rows.append(_Row(text[at:], at, "beyond", True, Role.QUOTED))
    return rows


def _core(line: str) -> str:
    """What is looked at of a line: all without outer blanks and invisible characters."""
    return _INVISIBLE.sub("", _BLANK.sub(" ", line)).strip()


# --- where history begins -----------------------------------------------------------------------------------------


def _mark_history(rows: list[_Row]) -> None:
    announcements = _Announcements(rows)
    forward = False
    at = 0
    while at < len(rows):
        row = rows[at]
        if row.quoted or not row.core:
            forward = forward if not row.core else forward or phrases.separator(row.core) == "forward"
            row.role = (Role.FORWARDED if forward else Role.QUOTED) if row.quoted else row.role
            at += 1
            continue
        announced = announcements.at(at)
        if announcements.exhausted:  # so many candidates that no person wrote this: nothing below is evidence
            _set(rows, at, len(rows), Role.QUOTED)
            return
        if announced is None:
            forward = False
            at += 1
            continue
        end, forward = announced
        _set(rows, _rule_above(rows, at), end, Role.ATTRIBUTION)
        body = _next_text(rows, end)
        if body < len(rows) and rows[body].core.startswith("|"):
            _mark_bars(rows, body)
        if body < len(rows) and not rows[body].quoted:
            _set(rows, body, len(rows), Role.FORWARDED if forward else Role.QUOTED)
            return
        at = end


class _Announcements:
    """Finds where history is announced. Attributions are found from their ends, which are plainer than their beginnings,
    and only as far as the reading goes."""

    def __init__(self, rows: list[_Row]) -> None:
        self._rows = rows
        self._ends: dict[int, int] = {}
        self._tries = 0
        self._split_rows()
        ends = (n for n, row in enumerate(rows) if not row.quoted and phrases.may_end_attribution(row.core))
        self._candidates = ends
        self._next = next(ends, len(rows))

    @property
    def exhausted(self) -> bool:
        """Whether more was tried than any mail of a person needs."""
        return self._tries > _MAX_TRIES

    def at(self, at: int) -> tuple[int, bool] | None:
        """End (exclusive) of the announcement that begins in row `at`, and whether it announces a forwarded mail."""
        if self._next < at + _JOINED + 4:
            self._look_ahead(at)
        core = self._rows[at].core
        if at in self._ends:
            return self._ends[at], False
        kind = phrases.separator(core)
        if kind is None and core[0].isalnum() and not phrases.has_colon(core):
            return None
        if kind:
            block = self._block(_next_text(self._rows, at + 1), separated=True)
            return block or at + 1, kind == "forward"
        if phrases.is_own_marker(core):
            return at + 1, False
        ruled = phrases.is_rule(core)
        block = self._block(_next_text(self._rows, at + 1) if ruled else at, separated=ruled)
        return (block, False) if block else None

    def _block(self, at: int, separated: bool) -> int | None:
        if at >= len(self._rows) or self.exhausted:
            return None
        self._tries += at + 1 < len(self._rows) and phrases.has_colon(self._rows[at].core)
        return _header_block(self._rows, at, separated)

    def _look_ahead(self, start: int) -> None:
        while self._next < min(len(self._rows), start + _JOINED + 4) and not self.exhausted:
            self._scan(self._next)
            self._next = next(self._candidates, len(self._rows))

    def _scan(self, end: int) -> None:
        follows = _quote_follows(self._rows, end + 1)
        start = self._start(end, follows)
        if start is None and follows and phrases.names_writer(self._rows[end].core):
            start = end
        if start is not None:
            self._ends.setdefault(start, end + 1)

    def _start(self, end: int, quote_follows: bool) -> int | None:
        """Row where the attribution that ends in row `end` begins; the shortest one counts."""
        joined = ""
        hints = blanks = 0
        for start in range(end, max(-1, end - _JOINED - 3), -1):
            row = self._rows[start]
            if row.quoted or blanks > 3:
                return None
            if not row.core:
                blanks += 1
                continue
            joined = f"{row.core} {joined}" if joined else row.core
            hints |= _hints(row)
            if len(joined) > _MATCHED:
                return None
            if hints & phrases.NAMED and (hints & phrases.DIGIT or "@" in joined) and self._try(joined, quote_follows):
                return self._widened(start, joined, quote_follows)
        return None

    def _try(self, joined: str, quote_follows: bool) -> bool:
        self._tries += 1
        return not self.exhausted and phrases.attributes(joined, quote_follows)

    def _widened(self, start: int, joined: str, quote_follows: bool) -> int:
        """The first row of an attribution that was wrapped inside its date ("On Mon, Jul 20," / "2026 at 3:04 PM …") or
        behind the writer's name ("Ana Gil" / "<a@b.example> wrote on …")."""
        above = self._rows[max(0, start - 2) : start][::-1]
        if phrases.introduces(joined):
            return start
        if joined[0] in "<(" or phrases.begins_with_address(joined):
            for row in above:
                if not row.core or row.quoted or not phrases.name_like(row.core.rstrip("<( ") or "Name"):
                    break
                start -= 1
            return start
        fits = above and not above[0].quoted and len(above[0].core) <= 100 and phrases.introduces(above[0].core)
        return start - 1 if fits and self._try(f"{above[0].core} {joined}", quote_follows) else start

    def _split_rows(self) -> None:
        """Splits each row in which an attribution begins behind new text ("Yes. On Mon, Jul 20, 2026 … wrote:")."""
        likely = [
            n for n, row in enumerate(self._rows) if (" On " in row.text or " El " in row.text) and not row.quoted
        ]
        for at in reversed(likely[:_MAX_TRIES]):
            row = self._rows[at]
            middle = phrases.midline(row.text[:_MATCHED])
            if middle and self._attributes_from(at, middle):
                self._rows[at : at + 1] = [_part(row, 0, middle), _part(row, middle, len(row.text))]

    def _attributes_from(self, at: int, middle: int) -> bool:
        """Whether an attribution begins at offset `middle` of row `at` and ends there or in one of the next two rows."""
        rows = self._rows
        stretch = rows[at].text[middle:_MATCHED].strip()
        for end in range(at, min(len(rows), at + 3)):
            if end > at and (rows[end].quoted or not rows[end].core):
                return False
            stretch = stretch if end == at else f"{stretch} {rows[end].core}"
            if phrases.may_end_attribution(stretch) and self._try(stretch[:_MATCHED], _quote_follows(rows, end + 1)):
                return True
        return False


def _part(row: _Row, start: int, end: int) -> _Row:
    """A part of a row, as a row of its own."""
    text = row.text[start:end]
    return _Row(text, row.start + start, _core(text[:_MATCHED]), False, opens=row.opens and not start)


def _hints(row: _Row) -> int:
    if row.hints < 0:
        row.hints = phrases.hints(row.core)
    return row.hints


def _header_block(rows: list[_Row], at: int, separated: bool) -> int | None:
    """End (exclusive) of a block of mail headers ("From: … Sent: … To: …", any order) that begins in row `at`."""
    if rows[at].quoted or not phrases.has_colon(rows[at].core):
        return None
    if phrases.inline_headers(rows[at].core) >= 3 and phrases.ADDRESS.search(rows[at].core):
        return at + 1 if phrases.header_label(rows[at].core) else None
    found: dict[str, str] = {}
    kind = ""
    end = here = at
    while here < min(len(rows), at + 24) and not rows[here].quoted:
        labelled = _label_of(rows[here])
        if labelled is None:
            here = _skipped(rows, here, kind)
            if here == 0:
                break
            continue
        kind, value = labelled
        if found and (kind in phrases.HEADER_KINDS) != (next(iter(found)) in phrases.HEADER_KINDS):
            break
        if kind in found:
            if "@" in value and "@" not in found[kind]:
                return None  # what stands above is no header: the block begins further down
            break
        found[kind] = value
        end = here = here + 1
    return end if _is_header_block(found, separated) else None


def _skipped(rows: list[_Row], at: int, kind: str) -> int:
    """Where the next header stands, over one blank row or the rest of a long value; 0 where the block is over."""
    if at + 1 >= len(rows) or not kind:
        return 0
    if not rows[at].core or _label_of(rows[at + 1]):
        return at + 1 if (not rows[at].core or kind in _LONG) and _label_of(rows[at + 1]) else 0
    two = at + 2 < len(rows) and rows[at + 1].core and kind in _LONG and _label_of(rows[at + 2])
    return at + 2 if two else 0


def _label_of(row: _Row) -> tuple[str, str] | None:
    if row.label is False:
        row.label = phrases.header_label(row.core) or phrases.foreign_label(row.core)
    return row.label or None


def _is_header_block(found: dict[str, str], separated: bool) -> bool:
    main = set(found) & {"from", "date", "to", "subject"}
    addresses = sum("@" in value for value in found.values())
    dated = any(c.isdigit() for c in found.get("date", ""))
    if separated and main and (len(main) >= 2 or addresses or dated):
        return True
    if len(main) >= 2 and addresses and main & {"from", "date"}:
        return True
    if (
        {"from", "date"} <= main
        and len(main) >= 3
        and dated
        and ("subject" in main or phrases.YEAR.search(found["date"]))
    ):
        return True
    stamped = any(phrases.YEAR.search(value) and phrases.CLOCK.search(value) for value in found.values())
    return addresses >= 2 and stamped and len(found) >= 3


def _rule_above(rows: list[_Row], at: int) -> int:
    above = at - 1
    while above >= 0 and not rows[above].core:
        above -= 1
    return above if above >= 0 and phrases.is_rule(rows[above].core) and not rows[above].quoted else at


def _mark_bars(rows: list[_Row], at: int) -> None:
    while at < len(rows) and (not rows[at].core or rows[at].core.startswith("|")):
        rows[at].quoted = bool(rows[at].core)
        at += 1


def _quote_follows(rows: list[_Row], at: int) -> bool:
    body = _next_text(rows, at)
    return body < len(rows) and (rows[body].quoted or rows[body].core.startswith("|"))


def _next_text(rows: list[_Row], at: int) -> int:
    while at < len(rows) and not rows[at].core and not rows[at].quoted:
        at += 1
    return at


def _set(rows: list[_Row], start: int, end: int, role: Role) -> None:
    for row in rows[start:end]:
        row.role = role if row.core or row.quoted else None


# --- quoted lines that lost their mark ----------------------------------------------------------------------------


def _mark_wrapped_quotes(rows: list[_Row]) -> None:
    """A mail program that wraps quoted lines leaves the rest of a sentence unmarked below its beginning."""
    for at in range(1, len(rows)):
        row, above = rows[at], rows[at - 1]
        if row.role is None and row.core and above.role in (Role.QUOTED, Role.FORWARDED):
            below = rows[at + 1] if at + 1 < len(rows) else None
            if _continues(above, row, below):
                row.role = above.role


def _continues(above: _Row, row: _Row, below: _Row | None) -> bool:
    said = above.core.lstrip("> |")
    open_ended = bool(said) and not said.endswith(_TERMINAL)
    sandwiched = below is not None and below.quoted
    if sandwiched and (row.core.startswith(("(", "<")) or row.core.endswith(">")):
        return True
    if sandwiched and open_ended and (not row.core[0].isupper() or len(said) >= 40):
        return True
    if sandwiched and len(said) > 72 and below is not None and not below.core.lstrip("> |"):
        return True
    return open_ended and len(above.core) + len(row.core.split()[0]) > 64


# --- our own words ------------------------------------------------------------------------------------------------


def _mark_own(rows: list[_Row], sent: Sequence[str]) -> None:
    """Text that we sent is history, and so is what follows it, unless it is an answer below a quoted whole."""
    if not sent:
        return
    own = _Own.of(sent)
    _split_own(rows, own)
    ours = [False] * len(rows)
    text = [n for n, row in enumerate(rows) if row.core]
    for before, n in zip([-1, *text], text, strict=False):
        ours[n] = rows[n].role is None and own.wrote(_said(rows[n]), before >= 0 and ours[before] and not rows[n].opens)
    at = 0
    while at < len(text):
        run = at
        while run < len(text) and ours[text[run]]:
            run += 1
        if run > at and _weighs(rows, text[at:run]):
            new_above = any(rows[n].role is None for n in text[:at])
            stop = run if not new_above else _next_marked(rows, text, run)
            for n in text[at:stop]:
                rows[n].role = rows[n].role or Role.QUOTED
            run = stop
        at = max(run, at + 1)


def _split_own(rows: list[_Row], own: _Own) -> None:
    """Takes our own words out of lines into which a mail program or a person has put them ("You said: …")."""
    for at in range(len(rows) - 1, -1, -1):
        row = rows[at]
        if (
            row.role is not None
            or len(row.text) < _OWN_RUN * 3
            or not own.touches(_said(row))
            or own.wrote(_said(row), False)
        ):
            continue
        pieces: list[_Row] = []
        done = 0
        for start, end in own.runs(row.text[:_OWN_LINE]):
            pieces += [_part(row, done, start), _part(row, start, end)]
            pieces[-1].role = Role.QUOTED
            done = end
        if pieces:
            rows[at : at + 1] = [piece for piece in [*pieces, _part(row, done, len(row.text))] if piece.text]


def _said(row: _Row) -> list[str]:
    if row.said is None:
        row.said = _WORD.findall(normalise(row.core))
    return row.said


def _shingles(words: list[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[n:] for n in range(_SHINGLE)), strict=False)


@dataclass(frozen=True, slots=True)
class _Own:
    """What makes text recognisable as ours: runs of words, whole lines, and all words in a row."""

    shingles: frozenset[tuple[str, ...]]
    lines: frozenset[str]
    words: str

    @classmethod
    def of(cls, sent: Sequence[str]) -> _Own:
        bodies = [_WORD.findall(normalise(body[:_OWN_CHARS])) for body in sent]
        shingles = {s for words in bodies for s in _shingles(words)}
        lines = {" ".join(_WORD.findall(normalise(line))) for body in sent for line in body[:_OWN_CHARS].splitlines()}
        return cls(frozenset(shingles), frozenset(lines), " ".join(f" {' '.join(words)} " for words in bodies))

    def wrote(self, words: list[str], follows: bool) -> bool:
        """Whether we wrote these words; `follows`: below words of ours, where the short end of a line counts too."""
        if len(words) < _SHINGLE:
            said = " ".join(words)
            return said in self.lines or (follows and bool(said) and f" {said} " in self.words)
        return all(s in self.shingles for s in _shingles(words))

    def touches(self, words: list[str]) -> bool:
        """Whether any words in a row are ours."""
        return any(s in self.shingles for s in _shingles(words))

    def runs(self, text: str) -> list[tuple[int, int]]:
        """Where in the text at least `_OWN_RUN` words of ours stand in a row."""
        places = [match.span() for match in _WORD.finditer(text)]
        words = [normalise(text[start:end]) for start, end in places]
        found: list[tuple[int, int]] = []
        at = 0
        while at + _OWN_RUN <= len(words):
            end = at
            while end + _SHINGLE <= len(words) and tuple(words[end : end + _SHINGLE]) in self.shingles:
                end += 1
            end += _SHINGLE - 1 if end > at else 0
            if end - at >= _OWN_RUN:
                found.append((places[at][0], places[end - 1][1]))
            at = max(end, at + 1)
        return found


def _weighs(rows: list[_Row], run: list[int]) -> bool:
    """Whether a run of our lines is history and not a customer who picks one of our offers in our words."""
    words = sum(len(_WORD.findall(rows[n].core)) for n in run)
    return words >= _OWN_RUN or (len(run) >= 3 and words >= 6)


def _next_marked(rows: list[_Row], text: list[int], at: int) -> int:
    while at < len(text) and rows[text[at]].role is None:
        at += 1
    return at


# --- signatures, notices, banners ---------------------------------------------------------------------------------


def _mark_endings(rows: list[_Row]) -> None:
    for start, end in _stretches(rows):
        texts = [row for row in rows[start:end] if row.core]
        _mark_banner(rows, start, end)
        stop = next((n for n, row in enumerate(texts) if row.role is None and phrases.footer(row.core)), len(texts))
        for row in texts[stop:]:
            row.role = Role.FOOTER
        texts = [row for row in texts[:stop] if row.role is None]
        for row in texts:
            if phrases.sent_from(row.core):
                row.role = Role.SIGNATURE
        _mark_signature([row for row in texts if row.role is None])


def _stretches(rows: list[_Row]) -> list[tuple[int, int]]:
    """Bounds of the stretches of rows in which no row has a role yet."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    for n, row in enumerate(rows):
        if row.role is not None and start is not None:
            found.append((start, n))
            start = None
        elif row.role is None and row.core and start is None:
            start = n
    return [*found, (start, len(rows))] if start is not None else found


def _mark_banner(rows: list[_Row], start: int, end: int) -> None:
    if not phrases.banner(rows[start].core):
        return
    while start < end and rows[start].core:
        rows[start].role = Role.FOOTER
        start += 1


def _mark_signature(texts: list[_Row]) -> None:
    start = _signature_start(texts)
    if start is None:
        start = _card_start(texts)
    for row in texts[start:] if start is not None else ():
        if phrases.postscript(row.core):
            return
        row.role = Role.SIGNATURE


def _signature_start(texts: list[_Row]) -> int | None:
    """Index of the row with which the signature begins: a delimiter or a formal greeting, with little below it."""
    first = max(0, len(texts) - 40)
    for n in range(first, len(texts)):
        tail = texts[n + 1 :]
        core = texts[n].core
        if phrases.SIGNATURE_DELIMITER.match(core) and _closes(texts[n], tail):
            return n
        if n and phrases.sign_off(core) and len(tail) <= 12 and not any(map(_speaks, tail)):
            return n
        if phrases.thanks(core) and 1 < len(tail) <= 10 and _card(tail):
            return n + 2 if phrases.name_like(tail[0].core) else n + 1
    return None


def _closes(delimiter: _Row, tail: list[_Row]) -> bool:
    if delimiter.text == "-- ":
        return len(tail) <= 30
    if len(tail) > 15 or any(map(_speaks, tail)):
        return False
    if delimiter.core in ("--", "—", "–", "__"):
        return True
    short = all(phrases.name_like(row.core) or phrases.SIGNATURE_DELIMITER.match(row.core) for row in tail)
    return short or any(phrases.contact(row.core) for row in tail)


def _card_start(texts: list[_Row]) -> int | None:
    """Index of the first row of a business card that closes the text without any delimiter."""
    for n in range(len(texts) - 1, max(0, len(texts) - 9), -1):  # never the first row: a mail is not all card
        tail = texts[n + 1 :]
        names = len(texts[n].core.split()) > 1 or texts[n].opens
        if tail and names and phrases.name_like(texts[n].core) and _card(tail):
            return n
        if texts[n].opens:
            return None
    return None


def _card(tail: list[_Row]) -> bool:
    return any(phrases.contact(row.core) for row in tail) and not any(map(_speaks, tail))


def _speaks(row: _Row) -> bool:
    """Whether somebody says something in this row (a question, a sentence, a statement of the form label: value)."""
    core = row.core
    if phrases.postscript(core):
        return False
    if "?" in core or phrases.speaks(core) or (len(core.split()) >= 6 and _SENTENCE.search(core)):
        return True
    return len(core) > 100 or (":" in core[:24] and not phrases.contact(core) and not phrases.header_label(core))


# --- the result ---------------------------------------------------------------------------------------------------


def _labelled(rows: list[_Row]) -> Labelled:
    lines: list[Line] = []
    new: list[str] = []
    blanks = 0
    gap = False
    last = next((row.role or Role.NEW for row in rows if row.core or row.quoted), Role.NEW)
    for row in rows:
        text = row.text
        if not row.core and not row.quoted:
            blanks += 1
        else:
            last = row.role or Role.NEW
            if last is Role.NEW:
                if new:
                    new.extend([GAP] if gap else [""] * blanks)
                new.append(text)
                blanks, gap = 0, False
            else:
                gap = True
        lines.append(Line(text, last, row.start, row.start + len(text)))
    return Labelled(tuple(lines), "\n".join(new))
