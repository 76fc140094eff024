"""ElevenLabs realtime transcription behind the call's `Hearing` port: µ-law in, typed events out (VO-1).

The vendor tells one commit more than once: plain, again with words, and at times two or three times over; it also
commits unasked. What leaves here is each commit once. A commit is known by its words' times, which no other commit of
the session can have; a plain one waits `GRACE` seconds for its words and goes without them only then, marked as of
low confidence, since nothing vouches for it (PR-6).

Invariants: one connection per session, never reopened here; after `HearingLost` nothing follows; `send` and `commit`
never raise on a lost connection, the event stream tells; every commit asked for is answered by at most one
`Committed` (a throttled one by an empty one).

It decides nothing: when to commit, what to do about a lost session and whom to ask are the call's business.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

MODEL: Final = "scribe_v2_realtime"
GRACE: Final = 0.5
"""Seconds that a plain commit waits for its words."""
LOW_LOGPROB: Final = -1.0
"""A word below this natural logarithm of its probability is of low confidence."""
MOST_KEYTERMS, LONGEST_KEYTERM = 50, 20
MESSAGE_BYTES = 2**20

_PERMANENT = frozenset(
    {
        "auth_error", "unaccepted_terms", "unaccepted_terms_error", "quota_exceeded",
        "invalid_request", "input_error", "chunk_size_exceeded",
    }
)  # fmt: skip
_PASSING = frozenset(
    {
        "rate_limited", "resource_exhausted", "queue_overflow", "session_time_limit_exceeded",
        "insufficient_audio_activity", "transcriber_error", "error",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Partial:
    """The words of the open segment so far; each replaces the one before."""

    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """A final word; start and end in seconds of the session's audio, logprob is a natural logarithm."""

    text: str
    start: float
    end: float
    logprob: float


@dataclass(frozen=True, slots=True)
class Committed:
    """A closed segment, once. text: empty where nothing was recognised; words: None where the vendor gave none."""

    text: str
    words: tuple[Word, ...] | None
    language: str | None
    low_confidence: bool


@dataclass(frozen=True, slots=True)
class HearingLost:
    """The session is over. retryable: a new one may work; otherwise settings or account must change first."""

    reason: str
    retryable: bool


HearingEvent: TypeAlias = Partial | Committed | HearingLost


class HearingUnavailable(ConnectionError):
    """No session came about; `lost` says why."""

    def __init__(self, lost: HearingLost) -> None:
        super().__init__(lost.reason)
        self.lost = lost


class Commits:
    """Which of the vendor's commit messages are news. Pure.

    `asked` counts commits that were asked for and not answered; `held` is a plain commit whose words have not come yet.
    """

    def __init__(self, low_logprob: float = LOW_LOGPROB) -> None:
        self.asked = 0
        self.held: str | None = None
        self._low = low_logprob
        self._last: str | None = None
        self._seen: set[tuple[str, tuple[tuple[float, float], ...]]] = set()

    def plain(self, text: str) -> Committed | None:
        """A commit without words."""
        if not text:
            return self._empty()
        if self.asked or text != self._last:
            self.held = text
        return None

    def timed(self, text: str, words: tuple[Word, ...], language: str | None) -> Committed | None:
        """A commit with words."""
        if not text:
            return self._empty()
        key = (text, tuple((word.start, word.end) for word in words))
        if key in self._seen:
            return None
        self._seen.add(key)
        self.held = None
        return self._news(Committed(text, words, language, any(word.logprob < self._low for word in words)))

    def release(self) -> Committed | None:
        """The held commit, whose words did not come."""
        text, self.held = self.held, None
        return self._news(Committed(text, None, None, low_confidence=True)) if text else None

    def throttled(self) -> Committed | None:
        """The vendor had too little new audio: nothing was said."""
        return self._empty()

    def _empty(self) -> Committed | None:
        """An empty commit is news only where one was asked for: there is nothing in it to hear twice."""
        return self._news(Committed("", None, None, low_confidence=False)) if self.asked else None

    def _news(self, committed: Committed) -> Committed:
        self.asked = max(self.asked - 1, 0)
        self._last = committed.text
        return committed


class ElevenLabsSession:
    """One open session. Iterate over it once; `send` and `commit` may be called meanwhile."""

    def __init__(self, socket: ClientConnection, low_logprob: float) -> None:
        self._socket = socket
        self._commits = Commits(low_logprob)
        self._closing = False
        self._held_until = 0.0

    async def send(self, ulaw: bytes) -> None:
        """Sends a lump (60 to 100 ms) of caller audio; waits while the vendor reads slowly."""
        await self._send(ulaw, commit=False)

    async def commit(self) -> None:
        """Asks for the final words of what was sent since the last commit."""
        self._commits.asked += 1
        await self._send(b"", commit=True)

    async def close(self) -> None:
        """Ends the session; its iterator then ends without `HearingLost`. Idempotent."""
        self._closing = True
        await self._socket.close()

    async def __aiter__(self) -> AsyncIterator[HearingEvent]:
        """The events, to the end of the session."""
        loop = asyncio.get_running_loop()
        while True:
            event: HearingEvent | None
            try:
                async with asyncio.timeout_at(self._held_until if self._commits.held else None):
                    raw = await self._socket.recv()
            except TimeoutError:
                event = self._commits.release()
            except ConnectionClosed as closed:
                if (last := self._commits.release()) is not None:
                    yield last
                if not self._closing:
                    yield HearingLost(_reason(closed), retryable=True)
                return
            else:
                held = self._commits.held
                event = self._event(_object(raw))
                if self._commits.held is not None and held is None:
                    self._held_until = loop.time() + GRACE
            if event is not None:
                yield event
            if isinstance(event, HearingLost):
                return

    async def _send(self, ulaw: bytes, *, commit: bool) -> None:
        audio = base64.b64encode(ulaw).decode("ascii")
        message = (
            f'{{"message_type":"input_audio_chunk","audio_base_64":"{audio}",'
            f'"commit":{"true" if commit else "false"},"sample_rate":8000}}'
        )
        with suppress(ConnectionClosed):
            await self._socket.send(message)

    def _event(self, message: Mapping[str, Any]) -> HearingEvent | None:
        kind, text = message.get("message_type"), str(message.get("text") or "").strip()
        if kind == "partial_transcript":
            return Partial(text)
        if kind == "committed_transcript":
            return self._commits.plain(text)
        if kind == "committed_transcript_with_timestamps":
            return self._commits.timed(text, _words(message.get("words")), message.get("language_code"))
        if kind == "commit_throttled":
            return self._commits.throttled()
        return _lost(message)


class ElevenLabsHearing:
    """Opens sessions. base_url: `https://…` (the sandbox: `http://…`), with or without a path."""

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str = "https://api.elevenlabs.io",
        model: str = MODEL,
        connect_timeout: float = 5.0,
        low_logprob: float = LOW_LOGPROB,
    ) -> None:
        self._key = api_key
        self._url = "ws" + base_url.removeprefix("http").rstrip("/") + "/v1/speech-to-text/realtime"
        self._model = model
        self._timeout = connect_timeout
        self._low_logprob = low_logprob

    async def open(self, language: str | None, keyterms: Sequence[str] = ()) -> ElevenLabsSession:
        """A session that hears. language: ISO 639-1, None: detect. keyterms: names to expect.

        Raises `HearingUnavailable` within the connect time-out. The vendor accepts a bad request first and refuses it
        by a message, so the first message is waited for here.
        """
        try:
            async with asyncio.timeout(self._timeout):
                socket = await connect(
                    f"{self._url}?{self._query(language, keyterms)}",
                    additional_headers={"xi-api-key": self._key},
                    compression=None,
                    max_size=MESSAGE_BYTES,
                    open_timeout=None,
                    close_timeout=1,
                    ping_interval=10,
                    ping_timeout=10,
                )
                await self._greeted(socket)
        except HearingUnavailable:
            raise
        except TimeoutError:
            raise HearingUnavailable(HearingLost("connect time-out", retryable=True)) from None
        except (OSError, InvalidHandshake, ConnectionClosed) as error:
            raise HearingUnavailable(HearingLost(_reason(error), retryable=True)) from error
        except InvalidURI as error:
            raise HearingUnavailable(HearingLost("the address is not a URL", retryable=False)) from error
        return ElevenLabsSession(socket, self._low_logprob)

    async def _greeted(self, socket: ClientConnection) -> None:
        try:
            while (message := _object(await socket.recv())).get("message_type") != "session_started":
                if (lost := _lost(message)) is not None:
                    raise HearingUnavailable(lost)
        except BaseException:
            socket.transport.abort()
            raise

    def _query(self, language: str | None, keyterms: Sequence[str]) -> str:
        pairs = [
            ("model_id", self._model),
            ("audio_format", "ulaw_8000"),
            ("commit_strategy", "manual"),
            ("include_timestamps", "true"),
        ]
        pairs += [("language_code", language)] if language else []
        terms = list(dict.fromkeys(term for term in keyterms if 0 < len(term) <= LONGEST_KEYTERM))
        return urlencode(pairs + [("keyterms", term) for term in terms[:MOST_KEYTERMS]])


def _object(raw: str | bytes) -> Mapping[str, Any]:
    """A message of the vendor's; an empty one where it is not a JSON object."""
    try:
        message = json.loads(raw)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _lost(message: Mapping[str, Any]) -> HearingLost | None:
    kind = message.get("message_type")
    if kind in _PERMANENT or kind in _PASSING:
        return HearingLost(f"{kind}: {str(message.get('error', ''))[:200]}", kind in _PASSING)
    return None


def _words(listed: Any) -> tuple[Word, ...]:
    if not isinstance(listed, list):
        return ()
    return tuple(
        Word(
            str(word.get("text", "")),
            float(word.get("start") or 0.0),
            float(word.get("end") or 0.0),
            float(word.get("logprob") or 0.0),
        )
        for word in listed
        if isinstance(word, dict) and word.get("type", "word") == "word"
    )


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"
