"""Text to µ-law speech for the stand-ins: espeak-ng where it is installed, syllable-like tones elsewhere.

What matters is length and rhythm: a long sentence takes long, words have gaps, clauses have longer ones, and two
people sound different. Nothing recognises the sound; what was said travels in the watermark.

Invariants: the same text, locale, voice and engine give the same bytes; the result is never empty and is a whole
number of 20 ms frames, padded with silence (0xFF). Results are cached. `speak` may take tens of milliseconds the
first time (a child process under espeak-ng); a caller with an event loop to keep runs it in a thread (`say`).
"""

from __future__ import annotations

import asyncio
import io
import math
import re
import shutil
import subprocess
import wave
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import Literal, TypeAlias
from zlib import crc32

from scripts.sandbox.wav import FRAME, RATE, encode
from scripts.sandbox.world import Utterance, World

Voice: TypeAlias = Literal["caller", "clara"]
Engine: TypeAlias = Literal["espeak-ng", "tones"]

_ESPEAK = {"en": "en-us", "es": "es"}
_VARIANT = {"caller": "+m3", "clara": "+f3"}
_PITCH = {"caller": 120, "clara": 205}
_WORDS_PER_MINUTE = "165"


@cache
def engine() -> Engine:
    """What `speak` uses on this machine."""
    return "espeak-ng" if shutil.which("espeak-ng") else "tones"


def speak(text: str, locale: str, voice: Voice, by: Engine | None = None) -> bytes:
    """`text` as µ-law, 8 kHz, mono, whole frames. locale: `en…` or `es…`; any other is read as English."""
    language = locale[:2].lower()
    return _speak(text, language if language in _ESPEAK else "en", voice, by or engine())


async def say(world: World, text: str, locale: str, voice: Voice) -> bytes:
    """`speak`, off the event loop; in tones where calls run faster than anybody could listen."""
    return await asyncio.to_thread(speak, text, locale, voice, engine() if world.speed == 1 else "tones")


@lru_cache(maxsize=256)
def _speak(text: str, language: str, voice: Voice, by: Engine) -> bytes:
    spoken = _espeak(text, language, voice) if by == "espeak-ng" else _tones(text, voice)
    return (spoken or b"\xff").ljust(max(-(-len(spoken) // FRAME), 1) * FRAME, b"\xff")


def _espeak(text: str, language: str, voice: Voice) -> bytes:
    command = ["espeak-ng", "--stdout", "-v", _ESPEAK[language] + _VARIANT[voice], "-s", _WORDS_PER_MINUTE, "--", text]
    made = subprocess.run(command, capture_output=True, check=True, timeout=30)
    with wave.open(io.BytesIO(made.stdout)) as file:
        rate, raw = file.getframerate(), file.readframes(file.getnframes())
    return encode(_resample(memoryview(raw).cast("h").tolist(), rate / RATE))


def _resample(samples: list[int], step: float) -> list[int]:
    """Each output sample is the mean of the `step` input samples under it, which also keeps aliases down."""
    sums = [0, *accumulate(samples)]

    def area(at: float) -> float:
        whole = int(at)
        return sums[whole] + (at - whole) * (samples[whole] if whole < len(samples) else 0)

    edges = [area(index * step) for index in range(int(len(samples) / step) + 1)]
    return [int((after - before) / step) for before, after in pairwise(edges)]


_TOKEN = re.compile(r"[^\W_]+|[.!?;:…]+|,")
_VOWELS = re.compile(r"[aeiouyáéíóúü]+")


def _tones(text: str, voice: Voice) -> bytes:
    parts = []
    for word in _TOKEN.findall(text.lower()):
        if word == ",":
            parts.append(_gap(160))
        elif not word[0].isalnum():
            parts.append(_gap(300))
        else:
            syllables = len(word) if word.isdigit() else max(len(_VOWELS.findall(word)), 1)
            pitches = [crc32(f"{word}{index}".encode()) % 5 for index in range(syllables)]
            parts += [_syllable(_PITCH[voice] + 9 * pitch) for pitch in pitches] + [_gap(60)]
    return b"".join(parts)


def _gap(milliseconds: int) -> bytes:
    return b"\xff" * (milliseconds * 8)


@cache
def _syllable(pitch: int, milliseconds: int = 160) -> bytes:
    """A voiced sound: a fundamental with falling harmonics under a rounded envelope."""
    count = milliseconds * RATE // 1000
    angle = 2 * math.pi * pitch / RATE
    return encode(
        int(9000 * math.sin(math.pi * n / count) * sum(math.sin(angle * k * n) / k for k in (1, 2, 3, 5)))
        for n in range(count)
    )


def utter(world: World, call: str, text: str, locale: str) -> Utterance:
    """Registers something that is about to be said under the next free number. call: its sid, or "" where unknown."""
    utterance = Utterance(len(world.utterances) + 1, call, text, locale)
    world.utterances[utterance.id] = utterance
    return utterance
