"""Is it a yes? What speaks against an answer being one, and against a wish being meant.

A yes needs a word for it, and neither a no, a doubt nor a question; a yes that names nothing needs also that no condition hangs on it.
"""

from __future__ import annotations

from pipeline.core.checks.check import Check, Stretch, acts_as
from pipeline.core.checks.context import About
from pipeline.core.checks.evidence import Fault
from pipeline.core.types import Channel

_OPENING = 20  # letters of a sentence in which "but" and its like speak about the sentence before


def yes_faults(check: Check, names_it: bool, offered: bool = False) -> list[Fault]:
    """What speaks against the yes. `names_it`: the words also name the slot or the offer; `offered`: it is for a slot from a list."""
    faults = []
    if not (_takes(check) if names_it and offered else names_it or check.wish_says("yes", *["accept"] * offered)):
        faults.append(Fault(About.RESTATE, "no_words_for_a_yes"))
    for start, end in [check.sentence()] if names_it else _unread_sentences(check):
        if check.around.says(start, end, "negation"):
            faults.append(Fault(About.RESTATE, "yes_and_no"))
        if check.around.says(start, end, "unsure"):
            faults.append(Fault(About.RESTATE, "yes_perhaps"))
        if not names_it and check.around.says(start, _opening(check, start, end), "contrast"):
            faults.append(Fault(About.RESTATE, "yes_but"))
    if not names_it and _says_more(check):
        faults.append(Fault(About.RESTATE, "yes_and_more"))
    if _asks(check, names_it):
        faults.append(Fault(About.RESTATE, "yes_as_question"))
    return faults


def negated(check: Check, kind: str) -> bool:
    """Whether a no stands right before the words of a wish ("don't move it")."""
    start, end = check.sentence()
    hits = check.cues.hits(kind, "excluded", "harmless")
    wished = [hit.start for hit in hits if hit.kind == kind and start <= hit.start < end]
    nos = [hit.end for hit in hits if hit.kind == "excluded" and hit.start >= start]
    between = [check.context.text[no:wish] for wish in wished for no in nos if no <= wish]
    return any(len(words.split()) <= 3 and "," not in words for words in between)


def _takes(check: Check) -> bool:
    """Whether the sentence takes what it names: by a word for it, or by naming it and saying nothing else."""
    named = [(hit.start, hit.end) for hit in check.ordinals().values()] + [(one.start, one.end) for one in check.placed]
    return check.sentence_says("accept", "yes") or not check.cues.beside(
        *check.sentence(), "filler", "naming", "harmless", besides=named
    )


def _opening(check: Check, start: int, end: int) -> int:
    """How far a condition on the yes is looked for: all through its own sentence, at the opening of any other."""
    own = check.wish is not None and start <= check.wish[0] < end
    return end if own else min(end, start + _OPENING)


def _unread_sentences(check: Check) -> list[Stretch]:
    """The sentences of the text that no other intent was read from."""
    others = [where for wish, where in check.wishes if not acts_as(wish, check.action)]
    found = []
    at = 0
    while at < len(check.context.text):
        start, end = check.around.sentence(at)
        if not any(start <= a < end for a, _ in others):
            found.append((start, end))
        at = end + 1
    return found


def _says_more(check: Check) -> bool:
    """Whether the sentence of a yes that names nothing holds words that are no part of a plain yes."""
    rest = check.cues.beside(*check.sentence(), "yes", "accept", "naming", "courtesy", "filler", "harmless")
    return any(char.isalnum() for char in rest)


def _asks(check: Check, names_it: bool) -> bool:
    """Whether the sentence of the wish asks instead of answering ("is the second one quiet?"; not "can I take it?")."""
    start, end = check.sentence()
    text = check.context.text
    opening = end - len(text[start:end].lstrip(" ,\u00a1\u00bf\"'"))
    first = [hit.kind for hit in check.cues.hits("asks", "may", "accept", "yes") if hit.start <= opening < hit.end]
    marked = text[end : end + 1] == "?" or "\u00bf" in text[start:end]
    if "may" in first:
        return False
    return (marked and not names_it) or ("asks" in first and (marked or check.context.channel is Channel.VOICE))
