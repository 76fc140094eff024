"""A call without a wire: the machine, Twilio's buffer, and a synthesiser that makes each sentence as long as its words.

Every command is checked as it comes; what a caller hears is what was really played. `now` is media time, 20 ms a frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.speech import Piece
from scripts.sandbox.phone_media import Playout
from tests.calls.words import lines, piece
from voice import machine as m

OPENING = (piece("You are speaking with an automated assistant."), piece("This call is recorded and transcribed."))
GREETING = (piece("How can I help you?"),)
MS_PER_WORD = 120


@dataclass
class Scene:
    """`auto`: sentences are synthesised at once and marks come back when they were played."""

    machine: m.Machine = field(default_factory=lambda: m.Machine(lines(), frozenset({"mhm", "ajá"})))
    auto: bool = True
    now: int = 0
    log: list[m.Command] = field(default_factory=list)
    playout: Playout = field(default_factory=Playout)
    marks: list[str] = field(default_factory=list)  # echoes on their way
    to_make: list[m.Synthesize] = field(default_factory=list)
    generations: dict[int, int] = field(default_factory=dict)  # by number of the sentence
    generation: int = 0
    last_number: int = 0
    thinking: int | None = None
    turns: list[m.Think] = field(default_factory=list)
    proved: set[int] = field(default_factory=set)  # numbers whose mark came back in its own generation
    told_whole: list[Piece] = field(default_factory=list)
    over: bool = False
    hung_up: bool = False

    # --- events --------------------------------------------------------------------------------------------------

    def feed(self, event: m.Event) -> list[m.Command]:
        """Hands over an event and checks what follows from it."""
        if isinstance(event, m.Replied):
            self.thinking = None if event.turn == self.thinking else self.thinking
        if isinstance(event, m.Marked):
            generation, number = event.name[1:].split(":")
            if int(generation) == self.generation and not self.over:
                self.proved.add(int(number))
        was_over = self.over
        commands = self.machine.handle(event, self.now)
        assert not (was_over and commands), "a call that is over commands nothing"
        self.over |= isinstance(event, m.Ended)
        if self.over:
            assert all(isinstance(command, m.StopSynthesis | m.Say) for command in commands)
        for command in commands:
            self._check(command)
        self.log += commands
        if self.auto:
            self._make()
        return commands

    def open(self) -> None:
        self.feed(m.Opened(OPENING, GREETING))

    def run(self, ms: int) -> None:
        """Lets media time pass, frame by frame."""
        for _ in range(0, ms, 20):
            self.now += 20
            self.feed(m.Tick())
            self.marks += self.playout.play()[1]
            if self.auto:
                self.echo()

    def echo(self) -> None:
        """All marks on their way arrive."""
        while self.marks:
            self.feed(m.Marked(self.marks.pop(0)))

    def play_out(self, most_ms: int = 60_000) -> None:
        """Until Clara has nothing more to say."""
        end = self.now + most_ms
        while self.machine.playback.active and self.now < end and not self.over:
            self.run(20)

    def say(self, words: str, ms: int = 800) -> None:
        """The caller says something and the transcriber tells it."""
        self.feed(m.SpeechBegan())
        self.run(ms)
        self.feed(m.SpeechEnded())
        self.run(240)
        self.feed(m.Heard(words))

    def reply(self, *pieces: Piece, changes: bool = False, records: str = "", ends: bool = False) -> None:
        """The turn that is thought about answers."""
        assert self.thinking is not None
        read_back = frozenset(records.split())
        self.feed(m.Replied(self.thinking, pieces, changes, read_back, ends))

    # --- what happened -------------------------------------------------------------------------------------------

    def spoken(self, since: int = 0) -> list[str]:
        """Texts of the sentences that were handed to the synthesiser."""
        return [command.piece.text for command in self.log[since:] if isinstance(command, m.Synthesize)]

    def heard(self) -> list[str]:
        """Texts of the sentences that were heard whole, in order."""
        return [told.text for told in self.told_whole]

    # --- checks --------------------------------------------------------------------------------------------------

    def _check(self, command: m.Command) -> None:
        match command:
            case m.SendClear():
                self.generation += 1
                self.marks += self.playout.clear()
            case m.StopSynthesis(generation):
                self.to_make = [item for item in self.to_make if item.generation >= generation]
            case m.Synthesize(generation, number):
                assert generation == self.generation and number not in self.generations
                self.generations[number] = generation
                self.to_make.append(command)
            case m.SendAudio(data):
                assert data and len(data) % 160 == 0
                numbers = sorted({byte for byte in data if byte != 0xFF})
                assert len(numbers) <= 1, "a chunk has audio of one sentence"
                for byte in numbers:
                    number = self._number(byte)
                    assert self.generations[number] == self.generation, "audio of a dead generation"
                    assert number >= self.last_number, "sentences play in order"
                    self.last_number = number
                assert self.playout.media(data)
                assert self.playout.waiting_ms < 300 + 20, "no further ahead than the lead and a chunk"
            case m.SendMark(name):
                number = int(name.split(":")[1])
                assert name == f"g{self.generation}:{number}" and number == self.last_number, "a mark stands behind its sentence"
                self.marks += self.playout.mark(name)
            case m.Think():
                assert self.thinking is None and command.turn == len(self.turns) + 1, "one turn at a time"
                self.thinking = command.turn
                self.turns.append(command)
            case m.Say(number, _, said, heard, whole):
                assert said.text.startswith(heard)
                assert not whole or (number in self.proved and heard == said.text), "only its own mark proves a sentence heard"
                if whole:
                    self.told_whole.append(said)
            case m.HangUp():
                assert not self.hung_up
                self.hung_up = self.over = True
            case m.CommitHearing():
                pass

    def _number(self, byte: int) -> int:
        return max(number for number in self.generations if number % 250 == byte)

    def sound(self, item: m.Synthesize) -> bytes:
        """The sentence's audio: each byte names it."""
        return bytes([item.number % 250]) * (len(item.piece.text.split()) * MS_PER_WORD * 8)

    def _make(self) -> None:
        while self.to_make and self.auto:
            item = self.to_make.pop(0)
            self.feed(m.Audio(item.generation, item.number, self.sound(item)))
            self.feed(m.AudioDone(item.generation, item.number))
