"""Is it a yes? What speaks against an answer being one.

A yes needs a word for it, and neither a no, a doubt nor a question; a yes that names nothing needs also that no condition hangs on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.core.checks.check import PLAIN, Check, Stretch, acts_as
from pipeline.core.checks.context import About
from pipeline.core.checks.evidence import Fault
from pipeline.core.types import Channel

_AGAINST = (
    ("negation", "yes_and_no"),
    ("unsure", "yes_perhaps"),
    ("passing", "yes_in_passing"),
    ("move_in", "yes_in_passing"),
)
_OPENING = 20  # letters of a sentence in which "but" and its like speak about the sentence before


def yes_faults(check: Check, named: Sequence[Stretch], offered: bool = False) -> list[Fault]:
    """What speaks against the yes. `named` is where the words name what it is to; `offered`: it is to a slot from a list."""
    faults = []
    words = ("yes", "accept") if named or offered else ("yes",)
    plain = not _words_beside(check, named)
    spoken = check.sentence_says(*words, "meant") if named else check.wish_says(*words)
    if not (spoken or (named and plain)):
        faults.append(Fault(About.RESTATE, "no_words_for_a_yes"))
    if not named and not plain:
        faults.append(Fault(About.RESTATE, "yes_and_more"))
    for start, end in [check.sentence()] if named else _unread_sentences(check):
        faults += [Fault(About.RESTATE, rule) for kind, rule in _AGAINST if check.around.says(start, end, kind)]
        if check.around.says(start, _opening(check, start, end), "contrast") and not (named and _meant(check)):
            faults.append(Fault(About.RESTATE, "yes_but"))
    if _asks(check):
        faults.append(Fault(About.RESTATE, "yes_as_question"))
    return faults


def _meant(check: Check) -> bool:
    """Whether the words set right what was understood ("actually I meant Friday")."""
    return check.sentence_says("meant")


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


def _words_beside(check: Check, named: Iterable[Stretch]) -> bool:
    """Whether the sentence of a yes holds words that are no part of a plain yes, besides those that name what it is to."""
    rest = check.cues.beside(*check.sentence(), *PLAIN, besides=named)
    return any(char.isalnum() for char in rest)


def _asks(check: Check) -> bool:
    """Whether the sentence of the wish asks instead of answering ("is the second one quiet?"; not "can I take it?")."""
    sentence = check.sentence()
    if check.opens_with(sentence, "may", "asks", "accept", "yes"):
        return False
    heard_as_one = check.context.channel is Channel.VOICE and check.opens_with(sentence, "asks", "accept", "yes")
    return check.is_question(sentence) or heard_as_one
