"""A number in every frame of synthetic speech, in the lowest bit of each µ-law byte, where nobody can hear it.

The phone and the synthesiser stand-ins mark what they say; the transcriber stand-in and the phone read the mark and
so know which utterance a piece of audio belongs to and how far it got. The gateway passes µ-law through untouched, so
the mark survives it; a gateway that transcodes, mixes or scales audio destroys the mark, which is a defect that tests
then see (VO-1).

One frame is 160 bytes, hence 160 bits: magic (24), utterance (64), frame index (24), frame count (24), check sum (24)
over the middle three. A frame is found wherever it stands in a stream, however the stream was cut into messages: a
reader searches for the magic.

Pure; never allocates utterance numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

FRAME = 160
_BITS = bytes(byte & 1 for byte in range(256))
_DIGITS = bytes(48 + (byte & 1) for byte in range(256))
_MAGIC = format(0xC1A4A5, "024b").encode()
_CLEAR = int.from_bytes(b"\xfe" * FRAME, "big")


@dataclass(frozen=True, slots=True)
class Mark:
    """Frame `index` of `count` of an utterance; `start` is the byte at which it stood in the stream read so far."""

    utterance: int
    index: int
    count: int
    start: int


def frames(ulaw: bytes) -> int:
    """How many frames `ulaw` fills."""
    return -(-len(ulaw) // FRAME)


def mark(ulaw: bytes, utterance: int) -> bytes:
    """The same sound, every frame marked; padded with silence to whole frames. utterance: 0 … 2**64-1."""
    count = frames(ulaw)
    ulaw = ulaw.ljust(count * FRAME, b"\xff")
    return b"".join(
        _marked(ulaw[index * FRAME : (index + 1) * FRAME], utterance, index, count) for index in range(count)
    )


def _marked(frame: bytes, utterance: int, index: int, count: int) -> bytes:
    body = utterance << 48 | index << 24 | count
    digits = _MAGIC + format(body << 24 | _check(body), "0136b").encode()
    bits = int.from_bytes(digits.translate(_BITS), "big")
    return (int.from_bytes(frame, "big") & _CLEAR | bits).to_bytes(FRAME, "big")


def _check(body: int) -> int:
    return crc32(body.to_bytes(14, "big")) & 0xFFFFFF


class Reader:
    """Finds marks in one stream of µ-law bytes that arrives in pieces of any size."""

    def __init__(self) -> None:
        self._rest = b""
        self._at = 0

    def feed(self, ulaw: bytes) -> Iterator[Mark]:
        """The marks whose frame is complete with this piece, in order. Exhaust the iterator before feeding again."""
        digits = self._rest + ulaw.translate(_DIGITS)
        at = 0
        while (found := digits.find(_MAGIC, at)) >= 0 and found + FRAME <= len(digits):
            at = found + 1
            value = int(digits[found + len(_MAGIC) : found + FRAME], 2)
            body = value >> 24
            if _check(body) == value & 0xFFFFFF:
                yield Mark(body >> 48, body >> 24 & 0xFFFFFF, body & 0xFFFFFF, self._at + found)
                at = found + FRAME
        keep = max(at, found if found >= 0 else len(digits) - len(_MAGIC) + 1)
        self._rest = digits[keep:]
        self._at += min(keep, len(digits))


def read(ulaw: bytes) -> list[Mark]:
    """All marks in a complete piece of audio."""
    return list(Reader().feed(ulaw))
