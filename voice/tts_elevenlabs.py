"""ElevenLabs speech synthesis behind the call's `Speaking` port: a string that passed the gate in, µ-law out (VO-2).

`speak` takes nothing but the gate's `Passed`, so that no string gets here ungated, and sends its text unchanged: what
was gated is what is spoken. The whole string is known when synthesis starts, so one HTTP request streams it. Chunks
are whole 20 ms frames.

Invariants: one request per `speak`, never retried (a caller who waited would hear the sentence late or twice);
leaving the iterator, by closing or cancelling, ends the request; every failure is a `SpeakingFailed`. Time that the
consumer takes counts against no limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Final, Literal, TypeAlias, cast

import httpx

from pipeline.core.gate import Passed

MODEL: Final = "eleven_flash_v2_5"
FRAME: Final = 160
CHUNK: Final = 3 * FRAME
"""60 ms, as they leave for the phone."""

Cause: TypeAlias = Literal["connect", "slow", "cut", "rate_limited", "unavailable", "rejected", "empty"]


class SpeakingFailed(Exception):
    """No (more) audio. retryable: the same string may be tried again; spoken: bytes that had come before."""

    def __init__(self, cause: Cause, detail: str, *, retryable: bool, spoken: int = 0) -> None:
        super().__init__(f"{cause}: {detail}")
        self.cause, self.detail, self.retryable, self.spoken = cause, detail, retryable, spoken


class ElevenLabsSpeaking:
    """Speaks with one account. voice: its id; voices: other ids by language (`es`), where one voice does not speak all.

    connect, first_byte, gap: seconds for the connection, from the request to the first audio, and between two chunks;
    total: of waiting in all.
    """

    def __init__(
        self,
        *,
        api_key: str,
        voice: str,
        voices: Mapping[str, str] | None = None,
        base_url: str = "https://api.elevenlabs.io",
        model: str = MODEL,
        connect: float = 2.0,
        first_byte: float = 4.0,
        gap: float = 3.0,
        total: float = 30.0,
    ) -> None:
        from elevenlabs.client import AsyncElevenLabs  # lazy: takes a second: only a process that speaks pays it

        self._voice, self._voices, self._model = voice, dict(voices or {}), model
        self._first_byte, self._gap, self._total = first_byte, gap, total
        limits = {"connect": connect, "read": max(first_byte, gap), "write": connect, "pool": connect}

        async def limit(request: httpx.Request) -> None:
            request.extensions["timeout"] = limits  # the SDK knows one number for all four

        self._http = httpx.AsyncClient(
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60),
            event_hooks={"request": [limit]},
        )
        client = AsyncElevenLabs(api_key=api_key, base_url=base_url, httpx_client=self._http)
        self._speech = client.text_to_speech  # imports lazily too, and must not do so during a call

    async def speak(self, passed: Passed) -> AsyncIterator[bytes]:
        """The speech of a string that passed for voice: µ-law, 8 kHz, in whole frames. Raises `SpeakingFailed`."""
        if not isinstance(passed, Passed) or passed.channel != "voice":
            raise TypeError("only a string that the gate passed for voice is spoken")
        spoken, left = 0, self._total
        clock = asyncio.get_running_loop().time
        try:
            async with aclosing(self._request(passed)) as stream:
                while True:
                    asked = clock()
                    async with asyncio.timeout(min(self._gap if spoken else self._first_byte, left)):
                        chunk = await anext(stream, b"")
                    left -= clock() - asked
                    if not chunk:
                        break
                    spoken += len(chunk)
                    yield chunk.ljust(-(-len(chunk) // FRAME) * FRAME, b"\xff")
        except Exception as error:
            raise _failure(error, spoken) from error
        if not spoken:
            raise SpeakingFailed("empty", "the answer has no audio", retryable=True)

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    def _request(self, passed: Passed) -> AsyncGenerator[bytes]:
        language = passed.locale[:2]
        made = self._speech.stream(
            self._voices.get(language, self._voice),
            text=passed.text,
            model_id=self._model,
            language_code=language,
            output_format="ulaw_8000",
            request_options={"chunk_size": CHUNK},
        )
        return cast("AsyncGenerator[bytes]", made)


def _failure(error: Exception, spoken: int) -> SpeakingFailed:
    """What went wrong, in the port's words. The vendor's text may quote ours, so no more than its code is kept."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        cause: Cause = "rate_limited" if status == 429 else "unavailable" if status >= 500 else "rejected"
        return SpeakingFailed(cause, f"answered {status}", retryable=cause != "rejected", spoken=spoken)
    cause = "cut"
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        cause = "connect"
    elif isinstance(error, TimeoutError | httpx.TimeoutException):
        cause = "slow"
    return SpeakingFailed(cause, type(error).__name__, retryable=True, spoken=spoken)
