"""Playback: paced by the media clock, one mark behind each piece, and no claim that a mark has not proved (VO-3, IN-11)."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from scripts.sandbox.phone_media import Playout
from tests.calls.words import piece
from voice.playback import CHUNK_BYTES, LEAD_MS, MARK_MS, Playback, Playing
from voice.twilio_codec import BYTES_PER_MS, FRAME_BYTES

TEXT = "The visit is on Monday, July 20 at 11 in the morning."
CHUNK_MS = CHUNK_BYTES // BYTES_PER_MS


@dataclass
class Line:
    """A playback, and Twilio's buffer behind it, on one clock of 20 ms frames."""

    playback: Playback = field(default_factory=Playback)
    playout: Playout = field(default_factory=Playout)
    now: int = 0
    sent: list[bytes | str] = field(default_factory=list)
    played: bytearray = field(default_factory=bytearray)
    gaps: int = 0  # frames of silence inside speech
    echoes: list[str] = field(default_factory=list)

    def send(self) -> None:
        for item in self.playback.due(self.now):
            self.sent.append(item)
            if isinstance(item, bytes):
                assert item and len(item) % FRAME_BYTES == 0 and len(item) <= CHUNK_BYTES
                assert self.playout.media(item)
            else:
                self.echoes += self.playout.mark(item)
            assert self.playout.waiting_ms < LEAD_MS + CHUNK_MS

    def tick(self) -> None:
        self.send()
        audio, marks = self.playout.play()
        self.played += audio
        self.gaps += not audio
        self.echoes += marks
        self.now += 20

    def speak(self, number: int, audio: bytes, reply: int = 1) -> None:
        """A piece whose audio is all there."""
        self.playback.add(Playing(number, piece(TEXT), reply))
        self.playback.audio(self.playback.generation, number, audio)
        self.playback.complete(self.playback.generation, number)


def padded(audio: bytes) -> bytes:
    """As it is played: whole frames."""
    return audio + b"\xff" * (-len(audio) % FRAME_BYTES)


SOUND = st.integers(1, 9_000).map(lambda size: bytes(n % 255 for n in range(size)))


@given(st.lists(SOUND, min_size=1, max_size=5))
def test_audio_that_is_there_plays_without_a_gap(sounds: list[bytes]) -> None:
    """Pieces play in order, byte for byte, without a hole, never further ahead than the lead and a chunk, each with its mark behind it."""
    line = Line()
    for number, sound in enumerate(sounds, 1):
        line.speak(number, sound)
    total = sum(len(padded(sound)) for sound in sounds)
    for _ in range(total // FRAME_BYTES):
        line.tick()
    assert bytes(line.played) == b"".join(map(padded, sounds)) and line.gaps == 0
    line.tick()
    assert line.echoes == [f"g0:{number}" for number in range(1, len(sounds) + 1)]
    assert [line.playback.heard(name) is not None for name in line.echoes] == [True] * len(sounds)
    assert not line.playback.active and not line.playback.sounds(line.now)


@given(st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 12)), min_size=1, max_size=25), st.integers(0, 3))
def test_synthesis_in_bursts_is_sent_in_order_and_never_ahead_of_the_lead(
    bursts: list[tuple[int, int]], cuts: int
) -> None:
    """However audio arrives, what is played is what was made, and the lead holds (asserted with every frame)."""
    line, made = Line(), bytearray()
    line.playback.add(Playing(1, piece(TEXT), 1))
    for size, pause in bursts:
        data = bytes((len(made) + n) % 251 for n in range(size))
        made += data
        line.playback.audio(0, 1, data)
        for _ in range(pause):
            line.tick()
    lost = line.playback.complete(0, 1)
    for _ in range(len(made) // FRAME_BYTES + 20):
        line.tick()
    assert bytes(line.played) == padded(bytes(made))
    assert line.echoes == (["g0:1"] if made else []) and (lost is None) == bool(made)


@given(SOUND, SOUND)
def test_a_failed_piece_has_no_mark(first: bytes, second: bytes) -> None:
    """What a synthesis left half is played as far as it got and proves nothing; the next piece follows."""
    line = Line()
    line.playback.add(Playing(1, piece(TEXT), 1))
    line.playback.audio(0, 1, first)
    lost = line.playback.complete(0, 1, failed=True)
    assert lost is not None and lost.number == 1
    line.speak(2, second)
    for _ in range((len(first) + len(second)) // FRAME_BYTES + 4):
        line.tick()
    assert bytes(line.played) == padded(first) + padded(second) and line.echoes == ["g0:2"]


def test_a_piece_without_sound_is_lost_and_holds_up_nothing() -> None:
    """A synthesis that ends without audio makes no mark, and the call goes on."""
    line = Line()
    line.playback.add(Playing(1, piece(TEXT), 1))
    lost = line.playback.complete(0, 1)
    assert lost is not None and lost.failed
    assert line.playback.complete(0, 1) is None, "a second end is no news"
    line.tick()
    assert line.sent == [] and not line.playback.active


@given(st.lists(SOUND, min_size=1, max_size=4), st.integers(0, 300), st.booleans())
def test_a_cut_ends_the_generation_and_claims_nothing_whole(sounds: list[bytes], frames: int, done: bool) -> None:
    """After a cut nothing of the old generation is sent, its marks prove nothing, and no estimate claims a piece heard whole."""
    line = Line()
    for number, sound in enumerate(sounds, 1):
        line.speak(number, sound)
    if not done:
        line.playback.add(Playing(9, piece(TEXT), 1))
        line.playback.audio(0, 9, sounds[0])
    for _ in range(frames):
        line.tick()
    proved = {name for name in line.echoes if line.playback.heard(name)}
    before = len(line.sent)
    left = line.playback.cut(line.now)
    assert [cut.number for cut in left] == [n for n in [*range(1, len(sounds) + 1), *([] if done else [9])] if f"g0:{n}" not in proved]
    assert all(0 <= cut.characters < len(cut.piece.text) for cut in left)
    assert all(cut.piece.text[: cut.characters] == "" or cut.piece.text[cut.characters - 1] == " " for cut in left)
    for number in range(1, 10):
        line.playback.audio(0, number, b"\x01" * 960)
        line.playback.complete(0, number)
    line.playout.clear()
    assert [line.playback.heard(f"g0:{number}") for number in range(1, 10)] == [None] * 9
    line.tick()
    assert len(line.sent) == before and not line.playback.active and not line.playback.sounds(line.now)
    line.speak(10, sounds[0])
    for _ in range(len(sounds[0]) // FRAME_BYTES + 2):
        line.tick()
    assert line.sent[-1] == "g1:10"


@given(st.integers(1, 40))
def test_an_estimate_grows_with_the_time_that_was_played(frames: int) -> None:
    """A piece that was cut later was not heard less far, and one that was cut before its first sound was not heard."""
    reached = []
    for played in range(frames):
        line = Line()
        line.speak(1, b"\x01" * 8_000)
        for _ in range(played):
            line.tick()
        reached.append(line.playback.cut(line.now)[0].characters)
    assert reached == sorted(reached) and reached[0] == 0


def test_a_mark_that_never_comes_does_not_keep_the_call_waiting() -> None:
    """A piece whose mark is two seconds overdue makes no sound any more; it still does not count as heard."""
    line = Line()
    line.speak(1, b"\x01" * 1_600)
    line.send()
    assert line.playback.sounds(200 + MARK_MS - 1) and not line.playback.sounds(200 + MARK_MS)
    assert line.playback.active
