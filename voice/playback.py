"""Playback: what of our words is queued, sent, played and heard. Pure; the clock is the media stream's milliseconds.

Theory. Twilio buffers what we send and plays it in order; a mark comes back when everything before it was played, and also when `clear` dropped it. So each
playback has a generation, marks carry it (`g<generation>:<piece>`), and a mark of a dead generation proves nothing. A piece counts as heard when its own mark, sent
right behind its last byte, came back in its own generation. Audio is sent ahead by a small lead only, so that `clear` is cheap and what is cut is small.

Invariants: pieces play in order; after `cut` nothing of the old generation is ever sent; what is estimated (how far a cut piece got) never counts as heard whole.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from pipeline.speech import Piece
from voice.twilio_codec import BYTES_PER_MS, FRAME_BYTES

LEAD_MS = 240
CHUNK_BYTES = 480  # 60 ms
MARK_MS = 2_000  # how long after the end of its audio a mark may come back
SILENCE = b"\xff"


@dataclass(slots=True)
class Playing:
    """One piece on its way. `number` is unique on the call."""

    number: int
    piece: Piece
    reply: int
    pending: bytearray = field(default_factory=bytearray)
    complete: bool = False
    failed: bool = False
    sent_bytes: int = 0
    starts_at: int | None = None
    mark: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """What an interruption left: `piece` and how many of its characters were (by time) played; 0 where it had not begun."""

    number: int
    piece: Piece
    reply: int
    characters: int


@dataclass(slots=True)
class Playback:
    """The queue of one call. `generation` grows with each cut."""

    generation: int = 0
    _queue: deque[Playing] = field(default_factory=deque)
    _waiting: dict[str, Playing] = field(default_factory=dict)
    plays_until: int = 0

    @property
    def active(self) -> bool:
        """Whether anything is queued, being sent, or not yet known to be played."""
        return bool(self._queue or self._waiting)

    def sounds(self, now: int) -> bool:
        """Whether anything is queued or, by time, still being played. A mark that is long overdue does not keep a call waiting."""
        return bool(self._queue) or now < self.plays_until + (MARK_MS if self._waiting else 0)

    def unheard(self) -> list[Playing]:
        """What is queued, being sent, or not yet known to be played, in order."""
        return [*self._waiting.values(), *self._queue]

    def add(self, playing: Playing) -> None:
        self._queue.append(playing)

    def audio(self, generation: int, number: int, data: bytes) -> None:
        """Synthesised audio; of a dead generation it is dropped."""
        playing = self._find(generation, number)
        if playing is not None:
            playing.pending += data

    def complete(self, generation: int, number: int, *, failed: bool = False) -> Playing | None:
        """No audio follows. The piece, where it can never be heard whole: its synthesis failed, or made no sound."""
        playing = self._find(generation, number)
        if playing is None or playing.complete:
            return None
        playing.complete = True
        playing.failed = failed or not (playing.sent_bytes or playing.pending)
        return playing if playing.failed else None

    def due(self, now: int) -> list[bytes | str]:
        """Audio to send now, as bytes of whole chunks, and names of marks behind finished pieces, in order."""
        out: list[bytes | str] = []
        while self._queue and self.plays_until - now < LEAD_MS:
            playing = self._queue[0]
            if len(playing.pending) >= CHUNK_BYTES or (playing.complete and playing.pending):
                chunk = bytes(playing.pending[:CHUNK_BYTES])
                del playing.pending[: len(chunk)]
                chunk += SILENCE * (-len(chunk) % FRAME_BYTES)
                self.plays_until = max(self.plays_until, now)
                if playing.starts_at is None:
                    playing.starts_at = self.plays_until
                self.plays_until += len(chunk) // BYTES_PER_MS
                playing.sent_bytes += len(chunk)
                out.append(chunk)
            elif playing.complete:
                self._queue.popleft()
                if not playing.failed:
                    playing.mark = f"g{self.generation}:{playing.number}"
                    self._waiting[playing.mark] = playing
                    out.append(playing.mark)
            else:
                break
        return out

    def heard(self, name: str) -> Playing | None:
        """The piece that a returned mark proves heard; None for marks of dead generations and unknown ones."""
        return self._waiting.pop(name, None)

    def cut(self, now: int) -> list[Cut]:
        """Ends this generation. What was not proven heard, in order; the caller sends `clear` before anything else."""
        left = self.unheard()
        self._waiting.clear()
        self._queue.clear()
        self.generation += 1
        self.plays_until = now
        return [Cut(p.number, p.piece, p.reply, _characters(p, now)) for p in left]

    def _find(self, generation: int, number: int) -> Playing | None:
        if generation != self.generation:
            return None
        return next((playing for playing in self._queue if playing.number == number), None)


def _characters(playing: Playing, now: int) -> int:
    """By time, and rounded down to a word: an estimate, used for the history only."""
    if playing.starts_at is None or not playing.sent_bytes or now <= playing.starts_at:
        return 0
    played = min(now - playing.starts_at, playing.sent_bytes // BYTES_PER_MS)
    whole = playing.sent_bytes + len(playing.pending)
    share = played * BYTES_PER_MS / whole if playing.complete else min(0.9, played / max(1, len(playing.piece.text) * 60))
    text = playing.piece.text.rstrip()
    return text.rfind(" ", 0, int(len(text) * share) + 1) + 1
