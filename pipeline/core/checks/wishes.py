"""Is it wished? What speaks against a visit, a move or a cancellation being what the words ask for.

The model names the wish; here the words are asked whether they can carry it. A cancellation takes something away, so it needs the most:
a word that asks for one, about a tour and nothing else, with no condition, doubt or change of mind beside it (UN-6).
"""

from __future__ import annotations

from pipeline.core.checks.check import PLAIN, Check
from pipeline.core.checks.context import About
from pipeline.core.checks.evidence import Fault
from pipeline.core.cues import Hit
from pipeline.core.reading import Role

_SAID_OFTEN = 10  # more words for it than anybody says are not looked at
_OBJECT = 80  # letters after the word within which it is said what is cancelled


def request_faults(check: Check) -> list[Fault]:
    """What speaks against the words wishing a visit."""
    faults = []
    if check.wish_says("cancel", "moved", "unwanted"):
        faults.append(Fault(About.RESTATE, "words_wish_something_else"))
    on_record = check.context.on_record
    answering = bool(on_record.offers or on_record.proposals or check.context.rounds or check.context.form)
    whole = (0, len(check.context.text))
    if not (answering or check.around.says(*whole, "visit", "wish")):
        faults.append(Fault(About.RESTATE, "no_words_for_a_visit"))
    visits = [group.start for group in check.around.groups if group.role is Role.VISIT]
    if visits and all(_only_asks(check, at) for at in visits):
        faults.append(Fault(About.RESTATE, "question_and_no_wish"))
    return faults


def cancel_faults(check: Check) -> list[Fault]:
    """What speaks against the words asking for a cancellation."""
    start, end = check.sentence()
    hits = check.around.spoken("cancel", *check.wish) if check.wish else []
    faults = []
    if not any(_of_a_tour(check, hit) for hit in hits[:_SAID_OFTEN]):
        faults.append(Fault(About.RESTATE, "no_words_for_a_cancellation"))
    doubted = check.around.says(0, len(check.context.text), "cancel_not") or check.sentence_says("unsure")
    taken_back = bool(hits) and check.around.says(hits[0].end, end, "contrast")
    asked = check.is_question((start, end)) and not check.around.says(start, end, "may_ask")
    if doubted or taken_back or asked:
        faults.append(Fault(About.RESTATE, "cancellation_not_wished"))
    return faults


def _only_asks(check: Check, at: int) -> bool:
    """Whether the sentence around a date asks about something and wishes nothing ("Do you do tours on Friday?")."""
    where = check.around.sentence(at)
    return check.is_question(where) and check.opens_with(where, "asks") and not check.around.says(*where, "wish")


def negated(check: Check, kind: str) -> bool:
    """Whether a no stands right before the words of a wish ("don't move it")."""
    start, end = check.sentence()
    hits = check.cues.hits(kind, "excluded", "harmless")
    wished = [hit.start for hit in hits if hit.kind == kind and start <= hit.start < end]
    nos = [hit.end for hit in hits if hit.kind == "excluded" and hit.start >= start]
    between = [check.context.text[no:wish] for wish in wished for no in nos if no <= wish]
    return any(len(words.split()) <= 3 and "," not in words for words in between)


def _of_a_tour(check: Check, hit: Hit) -> bool:
    """Whether what is cancelled is a tour, named or not ("cancel my Friday tour", "cancel please"; not "cancel my flight")."""
    end = min(check.around.sentence(hit.start)[1], hit.end + _OBJECT)
    stops = [mark.start for mark in check.around.spoken("clause", hit.end, end)]
    comma = check.context.text.find(",", hit.end, end)
    end = min([end, *stops, *([comma] if comma >= 0 else [])])
    if check.around.says(hit.start, hit.end, "tour"):
        return True
    named = [found.start for found in check.around.spoken("tour", hit.end, end)]
    named += [found.start for found in check.around.spoken("cancel_object", hit.end, end)]
    until = min(named, default=end)
    dates = [(one.start, one.end) for one in check.placed]
    rest = check.cues.beside(hit.end, until, *PLAIN, "tour", besides=dates)
    return not any(char.isalnum() for char in rest)
