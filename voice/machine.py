"""The call: a machine that takes events and returns commands. No I/O, no clock, no awaiting; `now` is the media stream's milliseconds.

Theory. Speech, marks, recognised words, replies and hang-ups interleave; so nothing here waits. The caller's speech makes edges; at its end the transcriber is asked to
commit; what it heard becomes a turn, one at a time; the reply is spoken piece by piece. When the caller speaks over Clara, the generation ends, `clear` goes out at
once, and what was not heard to its mark is kept: a backchannel or noise resumes it, words begin a new turn, and sentences with facts (and the opening) come back in
front of the next reply unless that reply changes the record. Deadlines are data, looked at on every frame.

Invariants: nothing is spoken but `Piece`s that the gate passed; a reply of a committing turn arrives after its commit; only marks of the living generation make
something heard; `read_back` records count as heard when every fact sentence of their reply was heard (PR-6, IN-11); at most one turn is thought about at a time;
what was cut or held back waits only while the caller speaks or the transcriber owes its words; a call that is to end ends, at a deadline if need be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from pipeline.speech import Piece
from voice.playback import MARK_MS, Cut, Playback, Playing

BARGE_MS = 60  # beyond the detector's onset
HEARING_MS = 3_000  # how long the transcriber may take after a commit
THINK_MS = 2_500  # VO-4
SILENCE_MS = 8_000
MOST_SILENCES = 2
FAREWELL_MS = 12_000


# --- events ------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Opened:
    """The stream runs; `opening` is spoken first, and what the caller cut off of it comes back (LW-1); `greeting` follows and does not."""

    opening: tuple[Piece, ...]
    greeting: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class SpeechBegan:
    pass


@dataclass(frozen=True, slots=True)
class SpeechEnded:
    pass


@dataclass(frozen=True, slots=True)
class Heard:
    """The transcriber's final words of what was said since the last commit; empty where it recognised nothing."""

    text: str
    low_confidence: bool = False


@dataclass(frozen=True, slots=True)
class Deafened:
    """The transcriber was lost, with whatever it had heard and not told; `for_good`: there is no other, so that the call must end."""

    for_good: bool = False


@dataclass(frozen=True, slots=True)
class Marked:
    name: str


@dataclass(frozen=True, slots=True)
class Replied:
    """The gated reply of a turn. `changes`: the turn changed a record; `read_back`: records that its fact sentences state."""

    turn: int
    pieces: tuple[Piece, ...]
    changes: bool = False
    read_back: frozenset[str] = frozenset()
    ends_call: bool = False


@dataclass(frozen=True, slots=True)
class Audio:
    generation: int
    number: int
    data: bytes


@dataclass(frozen=True, slots=True)
class AudioDone:
    generation: int
    number: int
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """A frame's worth of time went by."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The caller hung up or the stream is gone."""


Event = Opened | SpeechBegan | SpeechEnded | Heard | Deafened | Marked | Replied | Audio | AudioDone | Tick | Ended


# --- commands ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CommitHearing:
    """Ask the transcriber for its final words."""


@dataclass(frozen=True, slots=True)
class Think:
    """Run a turn on these words; its reply comes back as `Replied` with the same number."""

    turn: int
    text: str
    low_confidence: bool
    heard: frozenset[str]


@dataclass(frozen=True, slots=True)
class Synthesize:
    generation: int
    number: int
    piece: Piece


@dataclass(frozen=True, slots=True)
class StopSynthesis:
    """Of every generation before this one."""

    generation: int


@dataclass(frozen=True, slots=True)
class SendAudio:
    data: bytes


@dataclass(frozen=True, slots=True)
class SendMark:
    name: str


@dataclass(frozen=True, slots=True)
class SendClear:
    pass


@dataclass(frozen=True, slots=True)
class Say:
    """Record of one of our sentences: what was gated and what was heard of it so far."""

    number: int
    turn: int
    piece: Piece
    heard: str
    whole: bool


@dataclass(frozen=True, slots=True)
class HangUp:
    """End the call from our side; everything owed was played or its time is over."""


Command = CommitHearing | Think | Synthesize | StopSynthesis | SendAudio | SendMark | SendClear | Say | HangUp


class Phase(Enum):
    """What the call waits for."""

    LISTENING = "listening"
    HEARING = "hearing"  # the transcriber was asked to commit
    THINKING = "thinking"
    OVER = "over"


@dataclass(slots=True)
class _Reply:
    """What must still be heard of a reply before its records count as heard."""

    read_back: frozenset[str]
    facts_left: set[int]


@dataclass(slots=True)
class Machine:
    """One call. `lines` are gated fixed texts by name: `silence`, `goodbye`, `late_line`, `again`; `backchannels` are folded words."""

    lines: Mapping[str, tuple[Piece, ...]]
    backchannels: frozenset[str]
    playback: Playback = field(default_factory=Playback)
    heard_records: frozenset[str] = frozenset()
    _turn: int = 0
    _piece: int = 0
    _thinking: int | None = None
    _answer_by: int | None = None
    _late: bool = False
    _words: deque[tuple[str, bool]] = field(default_factory=deque)
    _owed: list[Piece] = field(default_factory=list)  # facts and opening that were not heard whole
    _owed_records: frozenset[str] = frozenset()
    _cut: list[Cut] = field(default_factory=list)
    _held: Replied | None = None  # arrived while the caller was speaking, or before we knew what they said
    _caller: bool = False
    _began_at: int = 0
    _hear_by: int | None = None  # the transcriber owes its words
    _quiet_since: int | None = None
    _silences: int = 0
    _replies: dict[int, _Reply] = field(default_factory=dict)
    _opening: frozenset[str] = frozenset()
    _ends: bool = False  # the call ends once what is being said was played, unless the caller has more to say
    _farewell_at: int | None = None
    _over: bool = False

    @property
    def phase(self) -> Phase:
        """What the call waits for; a turn comes before the transcriber."""
        if self._over:
            return Phase.OVER
        if self._thinking is not None:
            return Phase.THINKING
        return Phase.LISTENING if self._hear_by is None else Phase.HEARING

    def handle(self, event: Event, now: int) -> list[Command]:
        """The commands that follow from one event, to be carried out in order."""
        if self._over:
            return []
        match event:
            case Audio(generation, number, data):
                self.playback.audio(generation, number, data)
                return self._send(now)
            case AudioDone(generation, number, failed):
                return self._done(generation, number, failed, now)
            case Tick():
                return self._tick(now)
            case Marked(name):
                return self._marked(name, now)
            case SpeechBegan():
                self._caller, self._began_at, self._quiet_since = True, now, None
                return []
            case SpeechEnded():
                self._caller, self._hear_by = False, now + HEARING_MS
                return [CommitHearing()]
            case Heard(text, low_confidence):
                return self._heard(text, low_confidence, now)
            case Deafened(for_good):
                return self._part(now) if for_good else [] if self._hear_by is None else self._unheard(now)
            case Replied():
                return self._replied(event, now)
            case Opened(opening, greeting):
                self._opening = frozenset(piece.text for piece in opening)
                return self._speak((*opening, *greeting), 0, frozenset(), now)
            case Ended():
                return self._end(now)

    # --- the caller ----------------------------------------------------------------------------------------------------------------

    def _tick(self, now: int) -> list[Command]:
        commands: list[Command] = []
        if self._caller and self.playback.active and now - self._began_at >= BARGE_MS:
            commands += self._barge_in(now)
        commands += self._send(now)
        if self._hear_by is not None and now >= self._hear_by:
            commands += self._unheard(now)
        if self._answer_by is not None and now >= self._answer_by:
            # Past the limit (VO-4): a line without facts, and the reply is spoken only if it changed nothing.
            self._answer_by, self._late = None, True
            commands += self._speak(self.lines["late_line"], self._turn, frozenset(), now)
        if self._farewell_over(now):
            return [*commands, *self._end(now), HangUp()]
        return commands + self._silence(now)

    def _barge_in(self, now: int) -> list[Command]:
        self._farewell_at = None
        return self._fall_silent(now)

    def _fall_silent(self, now: int) -> list[Command]:
        """The buffer is cleared first, and nothing of the old generation follows (VO-3)."""
        left = self.playback.cut(now)
        self._cut += left
        return [SendClear(), StopSynthesis(self.playback.generation), *_reached(left)]

    def _heard(self, text: str, low_confidence: bool, now: int) -> list[Command]:
        words = text.strip()
        self._hear_by = None
        if not words or self._is_backchannel(words):
            return self._resume(now)
        self._silences, self._ends, self._farewell_at = 0, False, None
        self._owe_cut()
        if self._held is not None:
            # The caller went on before the reply was spoken: its facts come with the next one.
            held, self._held = self._held, None
            self._owe_reply(held)
        self._words.append((words, low_confidence))
        return self._next_turn(now)

    def _is_backchannel(self, words: str) -> bool:
        """Whether it answers nothing: Clara was speaking or thinking."""
        busy = self._cut or self._held is not None or self._thinking is not None
        return bool(busy) and words.casefold().strip(" .,!?¡¿…") in self.backchannels

    def _resume(self, now: int) -> list[Command]:
        """Noise or a backchannel: go on with what was cut, from the last heard mark. Not while the caller speaks: their words are still to come."""
        if self._caller:
            return []
        if self._held is not None:
            held, self._held = self._held, None
            self._owe_cut()
            return self._replied(held, now)
        left, self._cut = self._cut, []
        commands: list[Command] = []
        for cut in left:
            reply = self._replies.get(cut.reply)
            commands += self._speak_piece(cut.piece, cut.reply)
            if reply is not None:
                reply.facts_left.discard(cut.number)
        if self._ends and left:
            self._farewell_at = now + FAREWELL_MS
        if not self.playback.active:
            self._quiet_since = now
        return commands + self._send(now)

    def _unheard(self, now: int) -> list[Command]:
        """The transcriber told nothing of what the caller said: what was cut goes on; where nothing was, they are asked to say it once more."""
        self._hear_by = None
        if self._cut or self._held is not None or self._thinking is not None or self._caller or self._ends:
            return self._resume(now)
        return self._speak(self.lines["again"], self._turn, frozenset(), now)

    # --- turns -----------------------------------------------------------------------------------------------------------------------

    def _next_turn(self, now: int) -> list[Command]:
        if self._thinking is not None or not self._words:
            return []
        texts, doubts = zip(*self._words, strict=True)
        self._words.clear()
        self._turn += 1
        self._thinking, self._late, self._answer_by = self._turn, False, now + THINK_MS
        return [Think(self._turn, " ".join(texts), any(doubts), self.heard_records)]

    def _replied(self, reply: Replied, now: int) -> list[Command]:
        late = False
        if reply.turn == self._thinking:
            late, self._late = self._late, False
            self._thinking = self._answer_by = None
        stopped = self._outdate(now) if reply.changes else []
        if late and reply.changes:
            # What was committed past the limit is confirmed by text, not spoken late (VO-4).
            return stopped + self._next_turn(now)
        if self._words:
            self._owe_reply(reply)
            return stopped + self._next_turn(now)
        if self._caller or self._hear_by is not None:
            self._held = reply
            return stopped
        owed = _new(self._owed, reply.pieces)
        records = reply.read_back | self._owed_records
        self._owed, self._owed_records = [], frozenset()
        commands = stopped + self._speak((*owed, *reply.pieces), reply.turn, records, now)
        if reply.ends_call:
            self._ends, self._farewell_at = True, now + FAREWELL_MS
        return commands

    def _outdate(self, now: int) -> list[Command]:
        """A record changed: sentences about what it was before stop and do not come back; the opening does."""
        commands: list[Command] = []
        if any(playing.piece.facts and playing.reply > 0 for playing in self.playback.unheard()):
            commands = self._fall_silent(now)
        self._owe_cut()
        self._forget()
        return commands

    # --- the end -----------------------------------------------------------------------------------------------------------------------

    def _silence(self, now: int) -> list[Command]:
        waits = self.phase is Phase.LISTENING or self._late
        if not waits or self._caller or self._farewell_at is not None or self.playback.sounds(now):
            return []
        if self._quiet_since is None:
            self._quiet_since = now
        if now - self._quiet_since < SILENCE_MS:
            return []
        self._silences += 1
        if self._silences > MOST_SILENCES:
            return self._part(now)
        return self._speak(self.lines["silence"], self._turn, frozenset(), now)

    def _part(self, now: int) -> list[Command]:
        self._ends, self._farewell_at = True, now + FAREWELL_MS
        return self._speak(self.lines["goodbye"], self._turn, frozenset(), now)

    def _farewell_over(self, now: int) -> bool:
        """Whether the last words were played and nobody answers them, or their time is over. Audio that is on its way is never cut off."""
        if self._farewell_at is None:
            return False
        listening = self._caller or self._hear_by is not None
        return not (listening or self.playback.sounds(now)) or now >= max(self._farewell_at, self.playback.plays_until + MARK_MS)

    def _end(self, now: int) -> list[Command]:
        left = self.playback.cut(now)
        self._over = True
        return [StopSynthesis(self.playback.generation), *_reached(left)]

    # --- speaking ----------------------------------------------------------------------------------------------------------------------

    def _speak(self, pieces: tuple[Piece, ...], turn: int, read_back: frozenset[str], now: int) -> list[Command]:
        commands: list[Command] = []
        facts: set[int] = set()
        for piece in pieces:
            commands += self._speak_piece(piece, turn)
            if piece.facts:
                facts.add(self._piece)
        if read_back and facts:
            self._replies[turn] = _Reply(read_back, facts)
        return commands + self._send(now)

    def _speak_piece(self, piece: Piece, turn: int) -> list[Command]:
        self._piece += 1
        self._quiet_since = None
        self.playback.add(Playing(self._piece, piece, turn))
        self._rename(piece, turn)
        return [Synthesize(self.playback.generation, self._piece, piece), Say(self._piece, turn, piece, "", False)]

    def _rename(self, piece: Piece, turn: int) -> None:
        """A repeated fact sentence is waited for under its new number."""
        reply = self._replies.get(turn)
        if reply is not None and piece.facts:
            reply.facts_left.add(self._piece)

    def _send(self, now: int) -> list[Command]:
        return [SendMark(item) if isinstance(item, str) else SendAudio(item) for item in self.playback.due(now)]

    def _done(self, generation: int, number: int, failed: bool, now: int) -> list[Command]:
        lost = self.playback.complete(generation, number, failed=failed)
        if lost is not None:
            # Nobody can hear it to its end: like a sentence that was cut, it comes back with the next reply.
            self._owe(Cut(lost.number, lost.piece, lost.reply, 0))
        return self._send(now)

    def _marked(self, name: str, now: int) -> list[Command]:
        playing = self.playback.heard(name)
        if playing is None:
            return []
        reply = self._replies.get(playing.reply)
        if reply is not None:
            reply.facts_left.discard(playing.number)
            if not reply.facts_left:
                self.heard_records |= reply.read_back
                del self._replies[playing.reply]
        if not self.playback.active:
            self._quiet_since = now
        return [Say(playing.number, playing.reply, playing.piece, playing.piece.text, True)]

    # --- what must come back -------------------------------------------------------------------------------------------------------------

    def _owe_cut(self) -> None:
        cuts, self._cut = self._cut, []
        for cut in cuts:
            self._owe(cut)

    def _owe(self, cut: Cut) -> None:
        """Fact sentences and the opening come back; other words are gone."""
        reply = self._replies.pop(cut.reply, None)
        if reply is not None:
            # It was not heard: the records count only when its facts are heard with the next reply.
            self._owed_records |= reply.read_back
        stated = cut.piece.facts and cut.reply > 0
        if stated or cut.piece.text in self._opening:
            self._owed += _new([cut.piece], self._owed)

    def _forget(self) -> None:
        """Facts that are owed are not true any more."""
        self._owed = [piece for piece in self._owed if piece.text in self._opening]
        self._owed_records = frozenset()

    def _owe_reply(self, reply: Replied) -> None:
        """A reply that is not spoken: its facts come back."""
        if reply.changes:
            self._forget()
        facts = [piece for piece in reply.pieces if piece.facts]
        self._owed += _new(facts, self._owed)
        if facts:
            self._owed_records |= reply.read_back


def _new(pieces: Sequence[Piece], said: Sequence[Piece]) -> list[Piece]:
    """Sentences that do not stand among the others; the same words, gated again, are the same sentence."""
    texts = {piece.text for piece in said}
    return [piece for piece in pieces if piece.text not in texts]


def _reached(cuts: list[Cut]) -> list[Command]:
    """How far each cut sentence got."""
    return [Say(cut.number, cut.reply, cut.piece, cut.piece.text[: cut.characters].rstrip(), False) for cut in cuts]
