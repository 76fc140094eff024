"""The call's machine, event by event: who may speak when, what counts as heard, what comes back, and how a call ends (VO-3, VO-4, VO-8, LW-1, PR-6, IN-11)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.calls.scene import GREETING, OPENING, Scene
from tests.calls.words import lines, piece
from voice import machine as m

MONDAY, READ_BACK = piece("Monday at eleven is free.", "r1"), piece("So that is Monday at eleven.", "r1")
RIGHT = piece("Is that right?")
TUESDAY = piece("It moved to Tuesday at noon.", "r2")
FINE = piece("Happy to help with that.")
LATE, AGAIN, STILL, BYE = (lines()[name][-1] for name in ("late_line", "again", "silence", "goodbye"))


def greeted() -> Scene:
    """A call whose opening was heard."""
    scene = Scene()
    scene.open()
    scene.play_out()
    assert scene.heard() == [p.text for p in (*OPENING, *GREETING)]
    return scene


def asked(words: str = "Can I come on Monday?") -> Scene:
    """A call on which a turn is thought about."""
    scene = greeted()
    scene.say(words)
    assert scene.machine.phase is m.Phase.THINKING
    return scene


def read_back() -> Scene:
    """A call on which a read-back is being spoken."""
    scene = asked()
    scene.reply(READ_BACK, RIGHT, records="r1")
    return scene


# --- every phase, every event ------------------------------------------------------------------------------------


def hearing() -> Scene:
    scene = greeted()
    scene.feed(m.SpeechBegan())
    scene.run(400)
    scene.feed(m.SpeechEnded())
    return scene


def late() -> Scene:
    scene = asked()
    scene.run(m.THINK_MS + 20)
    return scene


def interrupted() -> Scene:
    scene = read_back()
    scene.run(400)
    scene.feed(m.SpeechBegan())
    scene.run(200)
    return scene


def held() -> Scene:
    scene = asked()
    scene.feed(m.SpeechBegan())
    scene.reply(READ_BACK, RIGHT, records="r1")
    return scene


def parting() -> Scene:
    scene = asked("That is all, thanks")
    scene.reply(FINE, ends=True)
    return scene


def over() -> Scene:
    scene = greeted()
    scene.feed(m.Ended())
    return scene


STATES: dict[str, Callable[[], Scene]] = {
    state.__name__: state for state in (Scene, greeted, hearing, asked, late, read_back, interrupted, held, parting, over)
}
EVENTS: dict[str, m.Event] = {
    "opened": m.Opened(OPENING, GREETING),
    "speech_began": m.SpeechBegan(),
    "speech_ended": m.SpeechEnded(),
    "heard_words": m.Heard("The first one please", True),
    "heard_backchannel": m.Heard("Mhm."),
    "heard_nothing": m.Heard(" "),
    "deafened": m.Deafened(),
    "deafened_for_good": m.Deafened(for_good=True),
    "mark_of_now": m.Marked("g0:4"),
    "mark_of_the_dead": m.Marked("g7:1"),
    "mark_unknown": m.Marked("x:y"),
    "reply": m.Replied(1, (FINE, MONDAY), read_back=frozenset({"r1"})),
    "reply_that_changes": m.Replied(1, (TUESDAY,), True, frozenset({"r2"})),
    "reply_of_another_turn": m.Replied(99, (FINE,)),
    "reply_without_words": m.Replied(1, ()),
    "audio": m.Audio(0, 4, b"\x04" * 333),
    "audio_of_the_dead": m.Audio(9, 1, b"\x01" * 333),
    "audio_done": m.AudioDone(0, 4),
    "audio_failed": m.AudioDone(0, 4, failed=True),
    "tick": m.Tick(),
    "ended": m.Ended(),
}


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("state", STATES)
def test_no_event_is_out_of_place(state: str, event: str) -> None:
    """Whatever happens in whatever state, nothing raises, the checks on every command hold, and the call goes on to an end."""
    scene = STATES[state]()
    commands = scene.machine.handle(EVENTS[event], scene.now)
    assert not commands or state != "over"
    for _ in range(400):
        scene.now += 200
        if any(isinstance(command, m.HangUp) for command in scene.machine.handle(m.Tick(), scene.now)):
            break
        scene.machine.handle(m.SpeechEnded(), scene.now)
        scene.machine.handle(m.Heard(""), scene.now)
    scene.machine.handle(m.Ended(), scene.now)
    assert scene.machine.phase is m.Phase.OVER and scene.machine.handle(m.Tick(), scene.now) == []


# --- one thing at a time -----------------------------------------------------------------------------------------


def test_a_caller_who_speaks_silences_clara_at_once() -> None:
    """120 ms after the onset `clear` is out, before anything else, and nothing of the old generation follows (VO-3)."""
    scene = read_back()
    scene.run(400)
    at = len(scene.log)
    scene.feed(m.SpeechBegan())
    scene.run(m.BARGE_MS)
    kinds = [type(command) for command in scene.log[at:] if not isinstance(command, m.SendAudio)]
    assert kinds[:2] == [m.SendClear, m.StopSynthesis]
    scene.run(400)
    after = scene.log[scene.log.index(m.SendClear()) :]
    assert not any(isinstance(command, m.SendAudio | m.SendMark) for command in after)


@pytest.mark.parametrize("noise", ["", "Mhm.", "ajá"])
def test_noise_and_backchannels_resume_from_the_last_heard_mark(noise: str) -> None:
    """What was heard whole is not said again; the sentence that was cut is, from its start, and counts once heard (VO-3)."""
    scene = read_back()
    scene.run(300)
    at = len(scene.log)
    scene.say(noise, 300)
    assert scene.spoken(at) == [READ_BACK.text, RIGHT.text]
    assert len(scene.turns) == 1 and scene.machine.heard_records == frozenset()
    scene.play_out()
    assert scene.heard()[-2:] == [READ_BACK.text, RIGHT.text] and scene.machine.heard_records == {"r1"}


def test_a_sentence_that_was_heard_is_not_resumed() -> None:
    """Only the sentence that was cut and those behind it come again."""
    scene = read_back()
    scene.run(6 * 120 + 200)
    assert scene.heard()[-1] == READ_BACK.text
    at = len(scene.log)
    scene.say("", 300)
    assert scene.spoken(at) == [RIGHT.text]


def test_words_of_the_caller_put_the_unheard_fact_in_front_of_the_next_reply() -> None:
    """A fact that was not heard to its end is repeated, words without facts are not; it counts when heard then (IN-11, PR-6)."""
    scene = interrupted()
    scene.feed(m.SpeechEnded())
    scene.feed(m.Heard("What about parking?"))
    assert scene.turns[-1].heard == frozenset()
    at = len(scene.log)
    scene.reply(FINE)
    assert scene.spoken(at) == [READ_BACK.text, FINE.text]
    scene.play_out()
    assert scene.machine.heard_records == {"r1"}


def test_a_reply_that_says_the_same_again_says_it_once() -> None:
    """A sentence that is owed and stands in the next reply as well, gated anew, is spoken once and counts."""
    scene = interrupted()
    scene.feed(m.SpeechEnded())
    scene.feed(m.Heard("What was that?"))
    at = len(scene.log)
    scene.reply(piece.__wrapped__(READ_BACK.text, "r1"), RIGHT)
    assert scene.spoken(at) == [READ_BACK.text, RIGHT.text]
    scene.play_out()
    assert scene.machine.heard_records == {"r1"}


def test_a_reply_that_changes_the_record_takes_the_unheard_fact_s_place() -> None:
    """What is not true any more is not said any more (IN-11)."""
    scene = interrupted()
    scene.feed(m.SpeechEnded())
    scene.feed(m.Heard("Make it Tuesday at noon"))
    at = len(scene.log)
    scene.reply(TUESDAY, changes=True, records="r2")
    assert scene.spoken(at) == [TUESDAY.text]
    scene.play_out()
    assert scene.machine.heard_records == {"r2"}


def test_a_record_that_changes_while_it_is_spoken_of_stops_the_old_sentence() -> None:
    """Words that came without a pause make a turn while Clara still speaks: the old fact is cleared before the new one is said."""
    scene = read_back()
    scene.run(300)
    scene.feed(m.Heard("Tuesday at noon then"))
    at = len(scene.log)
    scene.reply(TUESDAY, changes=True)
    assert isinstance(scene.log[at], m.SendClear) and scene.spoken(at) == [TUESDAY.text]
    scene.play_out()
    assert scene.heard()[-1] == TUESDAY.text and scene.machine.heard_records == frozenset()


def test_the_opening_comes_back_as_far_as_it_was_cut_off() -> None:
    """The caller talks over the second sentence of the opening: it comes in front of the reply, whatever that does; the greeting does not (LW-1)."""
    scene = Scene()
    scene.open()
    scene.run(7 * 120 + 300)
    assert scene.heard() == [OPENING[0].text]
    scene.say("Monday at eleven please")
    at = len(scene.log)
    scene.reply(READ_BACK, RIGHT, changes=True, records="r1")
    assert scene.spoken(at) == [OPENING[1].text, READ_BACK.text, RIGHT.text]


def test_a_mark_that_clear_threw_back_proves_nothing() -> None:
    """`clear` returns the mark of a sentence that was never played: its record is not heard (PR-6)."""
    scene = interrupted()
    scene.echo()
    assert scene.machine.heard_records == frozenset() and READ_BACK.text not in scene.heard()


def test_a_record_counts_when_all_of_its_sentences_were_heard() -> None:
    """One of two fact sentences is not enough (PR-6)."""
    scene = asked()
    scene.reply(MONDAY, READ_BACK, records="r1")
    scene.run(5 * 120 + 100)
    assert scene.heard()[-1] == MONDAY.text and scene.machine.heard_records == frozenset()
    scene.play_out()
    assert scene.machine.heard_records == {"r1"}


def test_a_sentence_that_could_not_be_synthesised_is_not_heard_and_comes_back() -> None:
    """The call goes on with the next sentence; the fact comes in front of the next reply and counts then (IN-11)."""
    scene = asked()
    scene.auto = False
    scene.reply(READ_BACK, RIGHT, records="r1")
    lost = scene.to_make.pop(0)
    scene.feed(m.Audio(lost.generation, lost.number, scene.sound(lost)[:2_000]))
    scene.feed(m.AudioDone(lost.generation, lost.number, failed=True))
    scene.auto = True
    scene.run(20)
    scene.play_out()
    assert scene.heard()[-1] == RIGHT.text and scene.machine.heard_records == frozenset()
    scene.say("Yes")
    at = len(scene.log)
    scene.reply(FINE)
    assert scene.spoken(at) == [READ_BACK.text, FINE.text]
    scene.play_out()
    assert scene.machine.heard_records == {"r1"}


def test_a_reply_waits_for_the_caller_and_for_what_they_said() -> None:
    """A reply that comes while the caller speaks, or before their words are known, is held; noise lets it go."""
    scene = held()
    scene.run(300)
    scene.feed(m.SpeechEnded())
    assert scene.spoken()[-1] == GREETING[0].text
    scene.feed(m.Heard(""))
    assert scene.spoken()[-2:] == [READ_BACK.text, RIGHT.text]
    scene.play_out()
    assert scene.machine.heard_records == {"r1"}


def test_a_held_reply_gives_its_facts_to_the_next_one() -> None:
    """The caller goes on instead: the reply's own words are dropped, its facts and their records are not."""
    scene = held()
    scene.feed(m.SpeechEnded())
    scene.feed(m.Heard("And is there parking?"))
    at = len(scene.log)
    scene.reply(FINE)
    assert scene.spoken(at) == [READ_BACK.text, FINE.text]
    scene.play_out()
    assert scene.machine.heard_records == {"r1"}


def test_what_the_caller_adds_while_a_turn_is_thought_about_is_the_next_turn() -> None:
    """One turn at a time: later words wait, join, and are doubtful if any of them is."""
    scene = asked()
    scene.feed(m.Heard("and a second thing"))
    scene.feed(m.Heard("or a third", True))
    assert len(scene.turns) == 1
    scene.reply(FINE)
    assert (scene.turns[-1].text, scene.turns[-1].low_confidence) == ("and a second thing or a third", True)


def test_a_backchannel_while_clara_thinks_is_no_turn() -> None:
    """Whoever hums while waiting asks nothing."""
    scene = asked()
    scene.say("Mhm")
    scene.reply(FINE)
    assert len(scene.turns) == 1 and scene.spoken()[-1] == FINE.text


def test_a_commit_past_the_limit_is_not_spoken() -> None:
    """After 2.5 s comes the line without facts; what was committed later is left to the text (VO-4)."""
    scene = asked()
    scene.run(m.THINK_MS - 20)
    assert LATE.text not in scene.spoken()
    scene.run(20)
    assert scene.spoken()[-1] == LATE.text
    scene.reply(TUESDAY, changes=True, records="r2")
    scene.play_out()
    assert TUESDAY.text not in scene.spoken() and scene.machine.heard_records == frozenset()
    scene.say("Hello?")
    scene.reply(FINE)
    assert scene.spoken()[-1] == FINE.text


def test_an_answer_past_the_limit_that_changed_nothing_is_spoken() -> None:
    """A late answer is an answer."""
    scene = late()
    scene.reply(FINE)
    assert scene.spoken()[-2:] == [LATE.text, FINE.text]


def test_a_commit_past_the_limit_outdates_what_was_owed() -> None:
    """A fact that was true before a late change does not come back afterwards."""
    scene = interrupted()
    scene.feed(m.SpeechEnded())
    scene.feed(m.Heard("Tuesday at noon"))
    scene.run(m.THINK_MS + 20)
    scene.reply(TUESDAY, changes=True)
    at = len(scene.log)
    scene.say("Is there parking?")
    scene.reply(FINE)
    assert READ_BACK.text not in scene.spoken(at) and scene.spoken(at)[-1] == FINE.text


@pytest.mark.parametrize("lost", [m.Tick(), m.Deafened()])
def test_lost_words_are_asked_for_again(lost: m.Event) -> None:
    """A transcriber that answers nothing in 3 s, or breaks off, costs the caller a repetition and never silence."""
    scene = hearing()
    scene.now += m.HEARING_MS if lost == m.Tick() else 20
    scene.feed(lost)
    assert scene.spoken()[-1] == AGAIN.text and scene.machine.phase is m.Phase.LISTENING


def test_a_transcriber_lost_while_nobody_spoke_is_not_noticed() -> None:
    """There is nothing to repeat."""
    scene = greeted()
    assert scene.feed(m.Deafened()) == []


def test_without_ears_clara_takes_leave() -> None:
    """A transcriber that is lost for good ends the call with a goodbye that is heard to its end."""
    scene = greeted()
    scene.feed(m.Deafened(for_good=True))
    scene.run(2_000)
    assert scene.heard()[-1] == BYE.text and scene.hung_up


def test_silence_is_asked_about_twice_and_then_ends_the_call() -> None:
    """8 s of silence prompt, twice; the third time Clara says goodbye, and hangs up when it was heard (VO-5)."""
    scene = greeted()
    scene.run(8_000 * 3 + 2_000 * 3)
    assert scene.heard()[-4:] == [STILL.text, STILL.text, "Thank you for calling.", BYE.text] and scene.hung_up
    assert isinstance(scene.log[-1], m.HangUp)


def test_words_start_the_count_of_silences_anew() -> None:
    """Whoever answers a prompt is still there."""
    scene = greeted()
    scene.run(16_000 + 2_500)
    assert scene.heard()[-2:] == [STILL.text] * 2
    scene.say("Yes, one moment")
    scene.reply(FINE)
    scene.run(8_000 + 2_000)
    assert scene.heard()[-1] == STILL.text and not scene.hung_up


def test_goodbye_is_heard_before_the_line_is_cut() -> None:
    """A reply that ends the call is played to its mark, however long it takes; then Clara hangs up."""
    scene = asked("Bye")
    scene.reply(*[piece("That is all that I can tell you for now and I wish you a very good day there.")] * 9, FINE, ends=True)
    scene.run(18_000)
    assert not scene.hung_up
    scene.run(6_000)
    assert scene.hung_up and scene.heard()[-1] == FINE.text


def test_a_goodbye_that_noise_cut_off_still_ends_the_call() -> None:
    """Noise resumes the goodbye, and the call ends behind it."""
    scene = parting()
    scene.run(300)
    scene.say("", 300)
    scene.run(3_000)
    assert scene.hung_up and scene.heard()[-1] == FINE.text


def test_a_caller_who_has_more_to_say_keeps_the_call() -> None:
    """Words over or right after the goodbye begin a turn; the call does not end under it."""
    scene = parting()
    scene.run(300)
    scene.say("Oh wait, one more thing")
    scene.run(2_000)
    assert not scene.hung_up and len(scene.turns) == 2
    scene.reply(MONDAY)
    scene.run(5_000)
    assert not scene.hung_up


@pytest.mark.parametrize("made", [0, 1])
def test_a_call_ends_although_synthesis_or_marks_fail(made: int) -> None:
    """A goodbye that is never made, or whose mark never returns, holds the line for its deadline and no longer."""
    scene = asked("Bye")
    scene.auto = False
    scene.reply(FINE, ends=True)
    if made:
        scene._make()
        scene.auto = True
        scene._make()
        scene.auto = False
    scene.run(m.FAREWELL_MS + 20)
    assert scene.hung_up


def test_a_turn_that_never_answers_does_not_keep_the_line_for_ever() -> None:
    """Past the line without facts, silence counts as on any call."""
    scene = asked()
    scene.run(m.THINK_MS + 3 * 8_000 + 10_000)
    assert scene.hung_up and scene.heard()[-1] == BYE.text


# --- any order of events -----------------------------------------------------------------------------------------

NAMES = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ironwood", "Juniper")


class AnyOrder(RuleBasedStateMachine):
    """Events in any order a line, a transcriber, a synthesiser and a pipeline can bring them. `Scene` checks every command."""

    def __init__(self) -> None:
        super().__init__()
        self.scene = Scene(auto=False)
        self.due: list[str] = [p.text for p in OPENING]  # must be heard whole in the end
        self.stale: set[str] = set()  # must not be handed to the synthesiser any more
        self.needs: dict[str, set[str]] = {}  # record: the sentences that must be heard before it counts
        self.facts = 0

    def feed(self, event: m.Event) -> None:
        commands = self.scene.feed(event)
        for command in commands:
            if isinstance(command, m.Synthesize):
                assert command.piece.text not in self.stale, "a sentence that is not true any more"
        if m.SendClear() in commands:
            after = commands[commands.index(m.SendClear()) + 1 :]
            assert isinstance(after[0], m.StopSynthesis)
        whole = set(self.scene.heard())
        for record in self.scene.machine.heard_records:
            assert self.needs[record] <= whole, "a record counts when all of its sentences were heard"

    @initialize()
    def opened(self) -> None:
        self.feed(m.Opened(OPENING, GREETING))

    @rule(frames=st.integers(1, 60))
    def time_passes(self, frames: int) -> None:
        for _ in range(frames):
            self.scene.now += 20
            self.feed(m.Tick())
            self.scene.marks += self.scene.playout.play()[1]

    @rule()
    def caller_begins(self) -> None:
        if not self.scene.machine._caller:
            self.feed(m.SpeechBegan())

    @rule()
    def caller_ends(self) -> None:
        if self.scene.machine._caller:
            self.feed(m.SpeechEnded())

    @rule(words=st.sampled_from(["Monday please", "what about parking", "mhm", "", " "]), unsure=st.booleans())
    def words_are_told(self, words: str, unsure: bool) -> None:
        self.feed(m.Heard(words, unsure))

    @rule()
    def transcriber_breaks_off(self) -> None:
        self.feed(m.Deafened())

    @precondition(lambda self: self.scene.marks)
    @rule(count=st.integers(1, 4))
    def marks_come_back(self, count: int) -> None:
        for _ in range(min(count, len(self.scene.marks))):
            self.feed(m.Marked(self.scene.marks.pop(0)))

    @rule(generation=st.integers(0, 6), number=st.integers(1, 30))
    def a_mark_of_the_dead_comes_back(self, generation: int, number: int) -> None:
        if generation < self.scene.generation:
            self.feed(m.Marked(f"g{generation}:{number}"))

    @precondition(lambda self: self.scene.to_make)
    @rule(count=st.integers(1, 4), fails=st.sampled_from([False] * 5 + [True]), part=st.integers(0, 6_000))
    def sentences_are_made(self, count: int, fails: bool, part: int) -> None:
        for _ in range(min(count, len(self.scene.to_make))):
            item = self.scene.to_make.pop(0)
            sound = self.scene.sound(item)
            self.feed(m.Audio(item.generation, item.number, sound[:part] if fails else sound))
            self.feed(m.AudioDone(item.generation, item.number, fails))

    @rule(generation=st.integers(0, 6), number=st.integers(1, 30))
    def audio_of_the_dead_arrives(self, generation: int, number: int) -> None:
        if generation < self.scene.generation:
            self.feed(m.Audio(generation, number, b"\x01" * 960))
            self.feed(m.AudioDone(generation, number))

    @precondition(lambda self: self.scene.thinking is not None)
    @rule(facts=st.integers(0, 2), changes=st.booleans(), ends=st.sampled_from([False] * 6 + [True]))
    def the_turn_answers(self, facts: int, changes: bool, ends: bool) -> None:
        turn = self.scene.thinking
        assert turn is not None
        record = f"r{turn}"
        stated = [piece(f"It stands as {NAMES[(self.facts + n) % len(NAMES)]} number {self._word(turn)}.", record) for n in range(facts)]
        self.facts += facts
        texts = [p.text for p in stated]
        late = changes and self.scene.machine._late
        if changes:
            opening = {p.text for p in OPENING}
            self.stale |= {text for text in self.due if text not in opening}
            self.due = [text for text in self.due if text in opening]
        self.needs[record] = set(texts)
        if late:
            self.stale |= set(texts)
        else:
            self.due += texts
        self.feed(m.Replied(turn, (*stated, FINE), changes, frozenset({record}), ends))

    @staticmethod
    def _word(turn: int) -> str:
        return "".join(NAMES[int(digit)] for digit in str(turn))

    @precondition(lambda self: len(self.scene.turns) > 3)
    @rule(often=st.integers(0, 40))
    def the_caller_hangs_up(self, often: int) -> None:
        if often == 40:
            self.feed(m.Ended())

    def teardown(self) -> None:
        """On a call that is still on, a caller who listens from here on hears every fact that stands, and the opening."""
        scene = self.scene
        if scene.machine._caller:
            self.feed(m.SpeechEnded())
        for _ in range(4):
            if scene.over:
                return
            self._listen()
            if scene.over:
                return
            self.feed(m.Heard("and then?"))
            while scene.thinking is not None:
                self.feed(m.Replied(scene.thinking, (FINE,), False, frozenset(), False))
        self._listen()
        if not scene.over:
            assert set(self.due) <= set(scene.heard()), set(self.due) - set(scene.heard())
            assert scene.hung_up or scene.machine.phase is m.Phase.LISTENING

    def _listen(self) -> None:
        scene = self.scene
        while not scene.over and (scene.machine.playback.active or scene.machine.phase is m.Phase.HEARING):
            while scene.to_make:
                self.sentences_are_made_well()
            self.time_passes(5)
            while scene.marks:
                self.feed(m.Marked(scene.marks.pop(0)))

    def sentences_are_made_well(self) -> None:
        item = self.scene.to_make.pop(0)
        self.feed(m.Audio(item.generation, item.number, self.scene.sound(item)))
        self.feed(m.AudioDone(item.generation, item.number))


AnyOrder.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)
test_any_order_of_events_keeps_every_promise = AnyOrder.TestCase
