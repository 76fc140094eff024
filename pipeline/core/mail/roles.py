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
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pipeline.core.mail import phrases
from pipeline.core.text import normalise

MAX_CHARS: Final = 1_000_000
MAX_LINES: Final = 20_000
GAP: Final = "[…]"
_MATCHED: Final = 600  # characters of a line that are looked at
_JOINED: Final = 6  # lines over which an attribution may be wrapped
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
    attribution: bool = field(default=False)


_INVISIBLE = str.maketrans(
    dict.fromkeys([0x00AD, 0x2060, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F)])
    | dict.fromkeys([0x00A0, 0x202F, 0x2007, 0x3000, 0x0009], " ")
)
_QUOTE_MARK = re.compile(r"[ \t]{0,3}>")
_ONLY_VERB = re.compile(r"[\s>]{1,8}(?:\w{2,12}\s?)?[:：]\s*$")
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"[.!…]\s*$")
_TERMINAL = (".", "?", "!", ":", "…", ";", '"', ")", "”")


def label(text: str, sent: Sequence[str] = ()) -> Labelled:
    """The roles of the lines of a plain-text mail body; `sent` are the bodies that we sent in this thread."""
    return label_marked(text, (), sent)


def label_marked(text: str, marks: Sequence[Role | None], sent: Sequence[str] = ()) -> Labelled:
    """As `label`, for text whose n-th line is known to be quoted or a signature where `marks[n]` says so (from HTML)."""
    rows = _rows(text, marks)
    head = rows[:MAX_LINES]
    _mark_history(head)
    _mark_wrapped_quotes(head)
    _mark_own(head, sent)
    _mark_endings(head)
    for row in rows:
        if row.role is None and (row.start >= MAX_CHARS or row.start > head[-1].start):
            row.role = Role.QUOTED
    return _labelled(rows)


def _rows(text: str, marks: Sequence[Role | None]) -> list[_Row]:
    rows: list[_Row] = []
    at = 0
    for number, raw in enumerate(text.splitlines(keepends=True)):
        line = raw.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
        core = line[:_MATCHED].translate(_INVISIBLE).strip()
        mark = marks[number] if number < len(marks) else None
        marked = mark is Role.QUOTED or bool(_QUOTE_MARK.match(line)) and not _ONLY_VERB.match(core) and not phrases.DECORATION.match(core)
        rows.append(_Row(line, at, core, marked, Role.SIGNATURE if mark is Role.SIGNATURE and core else None))
        at += len(raw)
    return rows


# --- where history begins -----------------------------------------------------------------------------------------


def _mark_history(rows: list[_Row]) -> None:
    ends = _attributions(rows)
    forward = False
    at = 0
    while at < len(rows):
        row = rows[at]
        if row.quoted or not row.core:
            forward = forward if not row.core else forward or phrases.separator(row.core) == "forward"
            row.role = (Role.FORWARDED if forward else Role.QUOTED) if row.quoted else None
            at += 1
            continue
        announced = _announcement(rows, at, ends)
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


def _announcement(rows: list[_Row], at: int, ends: dict[int, int]) -> tuple[int, bool] | None:
    """End (exclusive) of the announcement that begins in row `at`, and whether it announces a forwarded mail."""
    core = rows[at].core
    kind = phrases.separator(core)
    if kind:
        following = _next_text(rows, at + 1)
        block = _header_block(rows, following, separated=True)
        return block or at + 1, kind == "forward"
    if phrases.OWN_MARKER.match(core):
        return at + 1, False
    if at in ends:
        return ends[at], False
    ruled = phrases.is_rule(core)
    block = _header_block(rows, _next_text(rows, at + 1) if ruled else at, separated=ruled)
    return (block, False) if block else None


def _attributions(rows: list[_Row]) -> dict[int, int]:
    """Where attributions begin, each with its end (exclusive). A row that holds new text before one is split."""
    found: dict[int, int] = {}
    end = 0
    while end < len(rows):
        row = rows[end]
        if not row.quoted and row.core and _may_end_attribution(row.core):
            start = _attribution_start(rows, end, _quote_follows(rows, end + 1))
            if start is not None:
                begin, offset = start
                if offset:
                    _split(rows, begin, offset)
                    begin, end = begin + 1, end + 1
                found[begin] = end + 1
        end += 1
    return found


def _may_end_attribution(core: str) -> bool:
    tail = core[-40:]
    return core.endswith((":", "：", "--", ">", ")")) or bool(phrases.VERB.search(tail))


def _attribution_start(rows: list[_Row], end: int, quote_follows: bool) -> tuple[int, int] | None:
    """Row and offset in that row where the attribution that ends in row `end` begins; the shortest one counts."""
    joined = ""
    blanks = 0
    for start in range(end, max(-1, end - _JOINED - 3), -1):
        core = rows[start].core
        if rows[start].quoted:
            return None
        if not core:
            blanks += 1
            if blanks > 3:
                return None
            continue
        joined = f"{core} {joined}" if joined else core
        if len(joined) > _MATCHED:
            return None
        if not (phrases.VERB.search(joined) or phrases.ADDRESS.search(joined)):
            if start < end:
                return None
            continue
        middle = None if phrases.introduces(core) else phrases.MIDLINE.search(rows[start].text[:_MATCHED])
        if middle and phrases.attributes(joined[len(rows[start].text[: middle.end()].strip()) :], quote_follows):
            return start, middle.end()
        if phrases.attributes(joined, quote_follows):
            return _widened(rows, start, joined, quote_follows), 0
    return None


def _widened(rows: list[_Row], start: int, joined: str, quote_follows: bool) -> int:
    """The row above, where the attribution was wrapped inside its date ("On Mon, Jul 20," / "2026 at 3:04 PM …")."""
    above = start - 1
    if above < 0 or phrases.introduces(joined) or rows[above].quoted or not phrases.introduces(rows[above].core):
        return start
    whole = f"{rows[above].core} {joined}"
    return above if len(rows[above].core) < 100 and phrases.attributes(whole, quote_follows) else start


def _header_block(rows: list[_Row], at: int, separated: bool) -> int | None:
    """End (exclusive) of a block of mail headers ("From: … Sent: … To: …", any order) that begins in row `at`."""
    if at >= len(rows) or rows[at].quoted:
        return None
    if phrases.inline_headers(rows[at].core) >= 3 and phrases.ADDRESS.search(rows[at].core):
        return at + 1 if phrases.header_label(rows[at].core) else None
    kinds: set[str] = set()
    address = dated = False
    end, skipped = at, 0
    for here in range(at, min(len(rows), at + 24)):
        core = rows[here].core
        labelled = phrases.header_label(core) if core and not rows[here].quoted else None
        if labelled is None:
            skipped += 1
            if here == at or skipped > 2 or rows[here].quoted:
                break
            continue
        kind, value = labelled
        kinds.add(kind)
        address = address or "@" in value
        dated = dated or (kind == "date" and any(c.isdigit() for c in value))
        end, skipped = here + 1, 0
    return end if _is_header_block(kinds, address, dated, separated) else None


def _is_header_block(kinds: set[str], address: bool, dated: bool, separated: bool) -> bool:
    main = kinds & {"from", "date", "to", "subject"}
    if separated:
        return bool(main) and (len(main) >= 2 or address or dated)
    if len(main) < 2:
        return False
    if address and main & {"from", "date"}:
        return True
    return dated and {"from", "date", "subject"} <= main


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


def _split(rows: list[_Row], at: int, offset: int) -> None:
    row = rows[at]
    head, tail = row.text[:offset], row.text[offset:]
    rows[at : at + 1] = [
        _Row(head, row.start, head.translate(_INVISIBLE).strip(), False),
        _Row(tail, row.start + offset, tail[:_MATCHED].translate(_INVISIBLE).strip(), False),
    ]


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
    if sandwiched and open_ended and (row.core[0].islower() or len(said) >= 40):
        return True
    if sandwiched and len(said) > 72 and below is not None and not below.core.lstrip("> |"):
        return True
    return open_ended and len(above.core) + len(row.core.split()[0]) > 64


# --- our own words ------------------------------------------------------------------------------------------------


def _mark_own(rows: list[_Row], sent: Sequence[str]) -> None:
    """Text that we sent is history, and so is what follows it, unless it is an answer below a quoted whole."""
    if not sent:
        return
    shingles, lines = _own_words(sent)
    ours = [row.role is None and bool(row.core) and _is_ours(row.core, shingles, lines) for row in rows]
    text = [n for n, row in enumerate(rows) if row.core]
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


def _own_words(sent: Sequence[str]) -> tuple[set[tuple[str, ...]], set[str]]:
    shingles: set[tuple[str, ...]] = set()
    lines: set[str] = set()
    for body in sent:
        words = _WORD.findall(normalise(body[:MAX_CHARS]))
        shingles.update(zip(*(words[n:] for n in range(_SHINGLE)), strict=False))
        lines.update(" ".join(_WORD.findall(normalise(line))) for line in body.splitlines())
    return shingles, lines


def _is_ours(core: str, shingles: set[tuple[str, ...]], lines: set[str]) -> bool:
    words = _WORD.findall(normalise(core))
    if len(words) < _SHINGLE:
        return " ".join(words) in lines
    return all(shingle in shingles for shingle in zip(*(words[n:] for n in range(_SHINGLE)), strict=False))


def _weighs(rows: list[_Row], run: list[int]) -> bool:
    """Whether a run of our lines is history and not a customer who picks one of our offers in our words."""
    words = sum(len(_WORD.findall(rows[n].core)) for n in run)
    return words >= 12 or (len(run) >= 3 and words >= 6)


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
        _mark_signature([row for row in texts if row.role is None], rows)


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


def _mark_signature(texts: list[_Row], rows: list[_Row]) -> None:
    start = _signature_start(texts)
    if start is None:
        start = _card_start(texts, rows)
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
        if phrases.sign_off(core) and len(tail) <= 12 and not any(map(_speaks, tail)):
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


def _card_start(texts: list[_Row], rows: list[_Row]) -> int | None:
    """Index of the first row of a business card that closes the text without any delimiter."""
    if len(texts) < 3:
        return None
    starts = {row.start for above, row in zip(rows, rows[1:], strict=False) if not above.core and row.core}
    for n in range(len(texts) - 1, max(0, len(texts) - 9), -1):
        if texts[n].start in starts:
            tail = texts[n:]
            return n if len(tail) > 1 and phrases.name_like(tail[0].core) and _card(tail[1:]) else None
    return None


def _card(tail: list[_Row]) -> bool:
    return any(phrases.contact(row.core) for row in tail) and not any(map(_speaks, tail))


def _speaks(row: _Row) -> bool:
    """Whether somebody says something in this row (a question, a sentence, a statement of the form label: value)."""
    core = row.core
    if phrases.postscript(core):
        return False
    if "?" in core or (len(core.split()) >= 6 and _SENTENCE.search(core)):
        return True
    return len(core) > 100 or (":" in core[:24] and not phrases.contact(core) and not phrases.header_label(core))


# --- the result ---------------------------------------------------------------------------------------------------


def _labelled(rows: list[_Row]) -> Labelled:
    lines: list[Line] = []
    new: list[str] = []
    held: list[str] = []
    gap = False
    last: Role | None = None
    following = _following_roles(rows)
    for row, after in zip(rows, following, strict=True):
        blank = not row.core and not row.quoted
        role = row.role or Role.NEW
        if blank:
            role = last if last is not None else after or Role.NEW
        else:
            last = role
        lines.append(Line(row.text, role, row.start, row.start + len(row.text)))
        if blank:
            held.append("")
        elif role is Role.NEW:
            new.extend(([GAP] if gap else held) if new else [])
            new.append(row.text)
            held, gap = [], False
        else:
            gap = True
    return Labelled(tuple(lines), "\n".join(new))


def _following_roles(rows: list[_Row]) -> list[Role | None]:
    """For each row the role of the next row with text, None where no text follows."""
    roles: list[Role | None] = [None] * len(rows)
    after: Role | None = None
    for n in range(len(rows) - 1, -1, -1):
        roles[n] = after
        if rows[n].core or rows[n].quoted:
            after = rows[n].role or Role.NEW
    return roles
