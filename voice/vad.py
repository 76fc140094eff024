"""Speech detection on µ-law frames: an energy detector by table look-up, and nothing more (VO-1).

Each byte's level (0…255) is its linear magnitude over 126; a frame's level is the mean over its bytes. The noise floor is the least level of the last second and a
half: people pause within that time and machines do not, so that a fan or a car is no speech for longer than that. Speech is what stands clearly above the floor.
`Detector` turns levels into edges: speech began (after enough loud frames in a row), speech ended (after enough quiet time). Times are the stream's own
milliseconds; there is no clock here.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum

WINDOW_MS, WINDOWS = 300, 5


def _magnitude(byte: int) -> int:
    """Linear magnitude (0…32124) of a µ-law byte, G.711."""
    inverted = ~byte & 0xFF
    return (((inverted & 0x0F) << 3) + 0x84 << ((inverted & 0x70) >> 4)) - 0x84


LEVELS = bytes(min(255, _magnitude(byte) // 126) for byte in range(256))


def level(frame: bytes) -> float:
    """Mean level of a frame, 0 (silence) … 255."""
    return sum(frame.translate(LEVELS)) / len(frame) if frame else 0.0


class Edge(Enum):
    """What a frame changed."""

    BEGAN = "began"
    ENDED = "ended"


@dataclass(slots=True)
class Detector:
    """Edges of speech. `onset_ms` of loud frames in a row begin it; `hangover_ms` of quiet ones end it."""

    onset_ms: int = 60
    hangover_ms: int = 600
    least: float = 2.0
    ratio: float = 3.0
    speaking: bool = False
    _minima: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOWS - 1))
    _earlier: float = 255.0  # the least of `_minima`
    _lowest: float = 255.0  # the least level of the window that runs
    _window_ms: int = 0
    _loud_ms: int = 0
    _quiet_ms: int = 0

    def hear(self, frame: bytes) -> Edge | None:
        """One frame of 8 bytes per millisecond; the edge that it makes, if any."""
        ms = len(frame) // 8
        loudness = level(frame)
        if loudness >= max(self.least, self.ratio * self._floor(loudness, ms)):
            self._loud_ms += ms
            self._quiet_ms = 0
            if not self.speaking and self._loud_ms >= self.onset_ms:
                self.speaking = True
                return Edge.BEGAN
            return None
        self._loud_ms = 0
        self._quiet_ms += ms
        if self.speaking and self._quiet_ms >= self.hangover_ms:
            self.speaking = False
            return Edge.ENDED
        return None

    def _floor(self, loudness: float, ms: int) -> float:
        """The least level of the last windows, this frame included."""
        if self._window_ms >= WINDOW_MS:
            self._minima.append(self._lowest)
            self._earlier, self._lowest, self._window_ms = min(self._minima), 255.0, 0
        self._window_ms += ms
        self._lowest = min(self._lowest, loudness)
        return min(self._lowest, self._earlier)
