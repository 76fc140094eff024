"""G.711 µ-law by table, a two-channel WAV file of a call, and the few measurements that tests make on it.

A recording is two tracks on one timeline: the caller's (left) and Clara's (right). A track is a set of µ-law pieces
with the instant, in milliseconds of media time, at which each begins; what no piece covers is silence. Where pieces
overlap, the later one wins.

Invariants: 8,000 samples per second, one byte each, 8 bytes per millisecond; level 0 is digital silence. The module
is pure apart from `write` and `read`, which touch the file that they are given.
"""

from __future__ import annotations

import math
import wave
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

RATE = 8000
FRAME = 160
"""Bytes of one frame of 20 ms."""
FRAME_MS = 20
SILENCE = 0xFF


def _expand(code: int) -> int:
    code = ~code & 0xFF
    magnitude = (((code & 0x0F) << 3) + 0x84 << (code >> 4 & 7)) - 0x84
    return -magnitude if code & 0x80 else magnitude


PCM: tuple[int, ...] = tuple(_expand(code) for code in range(256))
"""µ-law byte -> 16-bit sample."""

_SQUARES = tuple(float(sample * sample) for sample in PCM)
_LOW = bytes(sample & 0xFF for sample in PCM)
_HIGH = bytes(sample >> 8 & 0xFF for sample in PCM)


def _compress(biased: int) -> int:
    exponent = max(biased.bit_length() - 8, 0)
    return exponent << 4 | biased >> exponent + 3 & 0x0F


_CODES = bytes(_compress(step << 3) for step in range(4096))


def encode(samples: Iterable[int]) -> bytes:
    """16-bit samples -> µ-law bytes; louder samples are clipped."""
    codes = _CODES
    return bytes(
        0xFF ^ codes[min(sample, 32635) + 132 >> 3] if sample >= 0 else 0x7F ^ codes[min(-sample, 32635) + 132 >> 3]
        for sample in samples
    )


@dataclass(slots=True)
class Track:
    """One side of a call: µ-law pieces by the millisecond at which they begin."""

    pieces: list[tuple[int, bytes]] = field(default_factory=list)

    def put(self, at_ms: int, ulaw: bytes) -> None:
        """Adds a piece; `at_ms` counts from the start of the recording."""
        self.pieces.append((at_ms, ulaw))

    @property
    def length_ms(self) -> int:
        """Milliseconds to the end of the last piece."""
        return max((at + len(piece) // 8 for at, piece in self.pieces), default=0)

    def samples(self, length_ms: int | None = None) -> bytes:
        """The whole track as µ-law, gaps filled with silence; cut or padded to `length_ms`."""
        length = (self.length_ms if length_ms is None else length_ms) * 8
        out = bytearray([SILENCE]) * length
        for at, piece in self.pieces:
            start = at * 8
            room = max(length - start, 0)
            out[start : start + len(piece)] = piece[:room]
        return bytes(out[:length])


def write(path: str | Path, caller: Track, clara: Track) -> None:
    """Writes both tracks as PCM16 stereo: left the caller, right Clara."""
    length = max(caller.length_ms, clara.length_ms)
    out = bytearray(length * 8 * 4)
    for at, ulaw in enumerate((caller.samples(length), clara.samples(length))):
        out[at * 2 :: 4] = ulaw.translate(_LOW)
        out[at * 2 + 1 :: 4] = ulaw.translate(_HIGH)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(bytes(out))


def read(path: str | Path) -> tuple[bytes, bytes]:
    """The µ-law bytes (caller, Clara) of a file that `write` wrote."""
    with wave.open(str(path), "rb") as file:
        if (file.getnchannels(), file.getsampwidth(), file.getframerate()) != (2, 2, RATE):
            raise ValueError(f"{path} is not a recording of a call")
        raw = memoryview(file.readframes(file.getnframes())).cast("h")
    return encode(raw[0::2].tolist()), encode(raw[1::2].tolist())


def levels(ulaw: bytes) -> list[float]:
    """Root mean square per frame of 20 ms, in 16-bit sample units."""
    squares = _SQUARES
    return [
        math.sqrt(sum(map(squares.__getitem__, ulaw[at : at + FRAME])) / FRAME) for at in range(0, len(ulaw), FRAME)
    ]


AUDIBLE = 200.0
"""The level from which a frame counts as sound (-44 dBFS)."""


def overlap_ms(one: Sequence[float], other: Sequence[float], floor: float = AUDIBLE) -> int:
    """Milliseconds during which both are audible."""
    return FRAME_MS * sum(a >= floor and b >= floor for a, b in zip(one, other, strict=False))


def quiet_from(track: Sequence[float], at_ms: int, hold_ms: int = 200, floor: float = AUDIBLE) -> int | None:
    """When, at or after `at_ms`, the track falls silent for at least `hold_ms` (or to its end); None: never."""
    start = quiet = at_ms // FRAME_MS
    for frame in range(start, len(track)):
        if track[frame] >= floor:
            quiet = frame + 1
        elif (frame + 1 - quiet) * FRAME_MS >= hold_ms:
            break
    else:
        if quiet >= len(track) > start:
            return None
    return quiet * FRAME_MS
