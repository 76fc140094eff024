"""The Anthropic model behind the ports `Reader` and `Drafter`: one forced tool call that reads, one plain answer that drafts.

Theory. A model answer is evidence of what a stranger's words say, or a row of words around facts; it is never an order. So an
answer counts only if it is whole: the stop reason is exactly the one that was asked for and the wanted block is there, once, found by
its type and not empty. Everything else is a `ModelFailure` with a kind (UN-10). A cut answer is never used, a refusal's partial text
is dropped, and nothing that the vendor's client raises gets past this module.

Invariants:

* The system prompt is constant for the life of the process, so that it can be cached, and holds no word that a customer wrote. What
  strangers wrote stands in the user message, between tags that it cannot close: `<` and `&` are escaped (UN-9).
* `budget` bounds the whole of a call, the own retry included. The vendor's client never retries.
* A second attempt is made once, where the failure may pass, enough time is left, and no more than the server's `retry-after` is waited;
  after an answer that was cut by its token budget it asks with a larger one.
* A parameter that the chosen model rejects is not sent: forms of the request are tried by `probe` at start, and the table below says
  what is known without asking.

The vendor's client is imported by `connect`, never at import time: it costs a second.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pipeline.core.reading import Reading, ReadingError, parse_reading, reading_schema
from pipeline.ports import Draft, DraftRequest, FactMark, ModelFailure, ReadRequest

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import Message

T = TypeVar("T")
Body = dict[str, Any]
FailureKind = Literal[
    "timeout", "overloaded", "unreachable", "refused", "truncated", "empty", "invalid", "rejected_request"
]

TOOL = "record_reading"
"""Name of the tool whose input is the reading."""

_PROMPTS = Path(__file__).parent / "prompts"
_CONNECT_SECONDS = 2.0
_PAUSE = 0.2  # before the second attempt, unless the server names a time
_WORTH_TRYING = 0.4  # seconds that a second attempt needs at least
_LARGER = 4  # how much larger the token budget of the second attempt is
_DAYS_SHOWN = 14
_DETAIL = 400  # characters of a raw error that go to the trace


# --- what a model takes -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Features:
    """What a model takes: a forced strict tool (then its answer starts without thinking), and `output_config.effort`."""

    forced_tool: bool
    effort: bool


_CAREFUL = Features(forced_tool=False, effort=False)
_HOPEFUL = Features(forced_tool=True, effort=True)
_KNOWN: Mapping[str, Features] = {
    "claude-haiku-5-5": Features(forced_tool=True, effort=True),
    "claude-sonnet-5-5": Features(forced_tool=False, effort=True),
    "claude-sonnet-5": Features(forced_tool=True, effort=True),
    "claude-haiku-4-5": Features(forced_tool=True, effort=False),
    "claude-haiku-4-5-20251001": Features(forced_tool=True, effort=False),
}


def known_features(model: str) -> Features:
    """What is known of `model` without asking; of a model that is not known, what every model takes."""
    return _KNOWN.get(model, _CAREFUL)


def connect(api_key: str, base_url: str | None = None) -> AsyncAnthropic:
    """The vendor's client, one for the process: shared connections, no retries of its own. Close it with `await client.close()`."""
    from anthropic import AsyncAnthropic  # here, because the import costs a second

    return AsyncAnthropic(api_key=api_key, base_url=base_url, max_retries=0)


# --- the two adapters -------------------------------------------------------------------------------------------------------


class AnthropicReader:
    """One structured reading per trigger (UN-1), as the input of a forced strict tool or, where the model refuses that, as JSON.

    `abilities` is the sentence about what Clara can do, generated from the domain registry; `domains` maps the name of each domain
    that adds an object to the reading to that object's schema. `read_seconds` bounds the wait for a first byte.
    """

    def __init__(
        self,
        client: AsyncAnthropic,
        model: str,
        *,
        abilities: str = "",
        domains: Mapping[str, Mapping[str, Any]] | None = None,
        read_seconds: float = 10.0,
    ) -> None:
        self.model = model
        self.features = known_features(model)
        self._calls = _Calls(client, read_seconds)
        self._system = _cached("reading.md", abilities)
        self._domains = tuple(domains or ())
        self._schema = reading_schema(domains)
        tool = {"name": TOOL, "description": "Records what the new text says.", "strict": True, "input_schema": self._schema}
        self._tools = Written([tool])
        output = {"format": {"type": "json_schema", "schema": self._schema}}
        self._outputs = {False: Written(output), True: Written(output | _LOW)}

    async def read(self, request: ReadRequest, budget: float) -> Reading | ModelFailure:
        """The reading of `request.text`, or why there is none; `budget` is seconds in all."""
        return await self._ask(reader_message(request), self.features, budget)

    async def probe(self, budget: float = 30.0) -> Features | ModelFailure:
        """Asks the service what this reader's model takes, and reads from then on in the best form it takes.

        Also pays the first use of the schema, which is slow, before a customer waits for it. On a failure the reader
        keeps to the form that it had.
        """
        message = reader_message(ReadRequest("hello", "sms", None, "2026-07-17T09:00", "UTC", ""))
        taken = await _first_taken(self._calls, self.model, lambda form, left: self._ask(message, form, left), budget)
        if isinstance(taken, Features):
            self.features = taken
        return taken

    async def _ask(self, message: str, features: Features, budget: float) -> Reading | ModelFailure:
        body = self._request(message, features)
        take = self._from_tool if features.forced_tool else self._from_text
        return await self._calls.ask(body, take, budget)

    def _request(self, message: str, features: Features) -> Body:
        body = _request(self.model, self._system, message)
        if features.forced_tool:
            choice = {"type": "tool", "name": TOOL, "disable_parallel_tool_use": True}
            return body | {"max_tokens": 2000, "tools": self._tools, "tool_choice": choice}
        return body | {"max_tokens": 4000, "output_config": self._outputs[features.effort]}

    def _from_tool(self, message: Message) -> Reading | ModelFailure:
        blocks = _blocks(message, "tool_use", "tool_use")
        if isinstance(blocks, ModelFailure):
            return blocks
        if len(blocks) > 1 or blocks[0].name != TOOL:
            return _failed("invalid", f"tool calls: {[block.name for block in blocks]}")
        return self._parsed(blocks[0].input) if blocks[0].input else _failed("empty", "the tool's input is empty")

    def _from_text(self, message: Message) -> Reading | ModelFailure:
        text = _text(message)
        if isinstance(text, ModelFailure):
            return text
        try:
            return self._parsed(json.loads(text))
        except json.JSONDecodeError as error:
            return _failed("invalid", f"not JSON: {error}")

    def _parsed(self, data: Any) -> Reading | ModelFailure:
        try:
            return parse_reading(_unescaped(data), self._domains)
        except ReadingError as error:
            return _failed("invalid", str(error))


class AnthropicDrafter:
    """Words around facts (DM-7): a plain answer with fact marks. It has no tool and sees no value of any fact."""

    def __init__(self, client: AsyncAnthropic, model: str, *, abilities: str = "", read_seconds: float = 10.0) -> None:
        self.model = model
        self.features = known_features(model)
        self._calls = _Calls(client, read_seconds)
        self._system = _cached("drafting.md", abilities)

    async def draft(self, request: DraftRequest, budget: float) -> Draft | ModelFailure:
        """The complete draft for `request`, or why there is none; `budget` is seconds in all."""
        return await self._ask(drafter_message(request), self.features, budget)

    async def probe(self, budget: float = 30.0) -> Features | ModelFailure:
        """Asks the service whether this drafter's model takes an effort; drafts in that form from then on."""
        mark = FactMark("F1", "the name of the property")
        message = drafter_message(DraftRequest("greeting", "sms", "en", "", [mark], "hello"))
        taken = await _first_taken(self._calls, self.model, lambda form, left: self._ask(message, form, left), budget)
        if isinstance(taken, Features):
            self.features = taken
        return taken

    async def _ask(self, message: str, features: Features, budget: float) -> Draft | ModelFailure:
        body = _request(self.model, self._system, message) | {"max_tokens": 2000}  # thinking counts in it
        return await self._calls.ask(
            body | ({"output_config": _LOW} if features.effort else {}), _draft, budget
        )


def _draft(message: Message) -> Draft | ModelFailure:
    text = _text(message)
    return text if isinstance(text, ModelFailure) else Draft(text)


# --- prompts ----------------------------------------------------------------------------------------------------------------


def _system(name: str, abilities: str) -> str:
    return (_PROMPTS / name).read_text(encoding="utf-8").replace("[[ABILITIES]]", abilities.strip()).strip()


_LOW: Body = {"effort": "low"}


class Written:
    """A constant part of a request, written as JSON once: schema and prompt are some thirty times as long as what changes."""

    def __init__(self, value: Any) -> None:
        self.json = json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def written(body: Body) -> bytes:
    """A request as bytes."""
    parts = (f"{json.dumps(key)}:{(value if isinstance(value, Written) else Written(value)).json}" for key, value in body.items())
    return f"{{{','.join(parts)}}}".encode()


def _cached(name: str, abilities: str) -> Written:
    """The system prompt, marked to be cached by the service."""
    return Written([{"type": "text", "text": _system(name, abilities), "cache_control": {"type": "ephemeral"}}])


def _request(model: str, system: Written, message: str) -> Body:
    return {
        "model": model,
        "system": system,
        "messages": [{"role": "user", "content": [{"type": "text", "text": message}]}],
    }


def reader_message(request: ReadRequest) -> str:
    """The user message of a reading: context (ours), history and new text (untrusted)."""
    context = {
        "channel": request.channel,
        "locale": request.locale,
        "now": request.now,
        "days": _weekdays(request.now),
        "tz": request.tz,
        "property": request.property_name,
        "open": request.open,
        "slots": list(request.slots),
        "form": _form(request.form),
    }
    return "\n".join((_part("context", _json(context)), _untrusted(request.history, request.text)))


def drafter_message(request: DraftRequest) -> str:
    """The user message of a draft: task (ours), history and new text (untrusted)."""
    task = {
        "outcome": request.outcome,
        "channel": request.channel,
        "locale": request.locale,
        "property": request.property_name,
        "facts": [{"mark": fact.mark, "means": fact.means} for fact in request.facts],
        "first_message": request.first_message,
    }
    return "\n".join((_part("task", _json(task)), _untrusted(request.history, request.text)))


def _untrusted(history: Sequence[tuple[str, str]], text: str) -> str:
    return "\n".join((_part("history", _json([list(line) for line in history])), _part("new_text", _escaped(text))))


def _part(name: str, content: str) -> str:
    return f"<{name}>\n{content}\n</{name}>"


def _json(value: Any) -> str:
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)
    return _sound(written).replace("<", "\\u003c")


def _escaped(text: str) -> str:
    return _sound(text).replace("&", "&amp;").replace("<", "&lt;")


def _sound(text: str) -> str:
    """`text` without halves of surrogate pairs, which no request can carry."""
    return text.encode("utf-8", "replace").decode()


def _unescaped(value: Any) -> Any:
    """What the model copied out of the escaped text, as it stands in the text itself."""
    if isinstance(value, str):
        return value.replace("&lt;", "<").replace("&amp;", "&")
    if isinstance(value, Mapping):
        return {key: _unescaped(item) for key, item in value.items()}
    return [_unescaped(item) for item in value] if isinstance(value, list) else value


def _weekdays(now: str) -> dict[str, str]:
    """The weekday of each of the next days, so that the model need not count."""
    first = datetime.fromisoformat(now).date()
    names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    days = (first + timedelta(days=n) for n in range(_DAYS_SHOWN))
    return {day.isoformat(): names[day.weekday()] for day in days}


_ISO = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?")


def _form(form: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Dates of a form and nothing else: its other fields are words of strangers, and the context is not theirs."""
    if form is None:
        return None
    times = [str(time) for time in form.get("tour_times") or () if _ISO.fullmatch(str(time))]
    move_in = str(form.get("move_in") or "")
    return {"move_in": move_in if _ISO.fullmatch(move_in) else None, "tour_times": times}


# --- what came back ---------------------------------------------------------------------------------------------------------


_PASSING: frozenset[FailureKind] = frozenset({"timeout", "overloaded", "unreachable", "truncated", "empty", "invalid"})


def _failed(kind: FailureKind, detail: str, retryable: bool | None = None) -> ModelFailure:
    return ModelFailure(kind, detail[:_DETAIL], kind in _PASSING if retryable is None else retryable)


def _blocks(message: Message, stop: str, wanted: str) -> list[Any] | ModelFailure:
    """The blocks of type `wanted` of an answer that ended with `stop`; at least one."""
    content, reason = list(message.content or ()), message.stop_reason
    if reason == "refusal":
        return _failed("refused", f"refusal: {message.stop_details}")
    if reason == "max_tokens":
        return _failed("truncated", f"max_tokens after {[block.type for block in content]}")
    if reason == "model_context_window_exceeded":
        return _failed("truncated", str(reason), retryable=False)
    if not content:
        return _failed("empty", f"no content, stop reason {reason}")
    if reason != stop:
        return _failed("invalid", f"stop reason {reason} where {stop} is right")
    blocks = [block for block in content if block.type == wanted]
    return blocks or _failed("empty", f"no {wanted} among {[block.type for block in content]}")


def _text(message: Message) -> str | ModelFailure:
    blocks = _blocks(message, "end_turn", "text")
    if isinstance(blocks, ModelFailure):
        return blocks
    if any(block.type == "tool_use" for block in message.content):
        return _failed("invalid", "a tool call where text alone is right")
    text = "".join(block.text for block in blocks).strip()
    return text or _failed("empty", "blank text")


# --- calls ------------------------------------------------------------------------------------------------------------------


class _Calls:
    """Calls with a budget: at most two attempts, each failure a value."""

    def __init__(self, client: AsyncAnthropic, read_seconds: float) -> None:
        self.client = client
        self._read_seconds = read_seconds

    async def ask(self, body: Body, take: Callable[[Message], T | ModelFailure], budget: float) -> T | ModelFailure:
        """What `take` makes of the answer to `body` within `budget` seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + budget
        outcome, pause = await self._once(body, take, budget)
        if not isinstance(outcome, ModelFailure) or not outcome.retryable:
            return outcome
        if outcome.kind == "truncated":
            body = body | {"max_tokens": body["max_tokens"] * _LARGER}
        if deadline - loop.time() - pause < _WORTH_TRYING:
            return outcome
        await asyncio.sleep(pause)
        again, _ = await self._once(body, take, deadline - loop.time())
        return again

    async def _once(
        self, body: Body, take: Callable[[Message], T | ModelFailure], seconds: float
    ) -> tuple[T | ModelFailure, float]:
        """One attempt, and how long to wait before another one."""
        try:
            async with asyncio.timeout(seconds):
                return take(await self._create(body, seconds)), 0.0
        except TimeoutError:
            return _failed("timeout", f"no answer within {seconds:.1f} s"), 0.0
        except Exception as error:  # whatever client or transport raises becomes a value (UN-10)
            return failure_of(error), _pause(error)

    async def _create(self, body: Body, seconds: float) -> Message:
        """`messages.create` with a body that is bytes already: the client copies, checks and writes a whole schema anew for every call."""
        from anthropic.types import Message

        return await self.client.post(
            "/v1/messages", content=written(body), options={"timeout": self.timeout(seconds)}, cast_to=Message
        )

    def timeout(self, seconds: float) -> Any:
        """The client's own time-outs: connecting is cut early, so that time for a second attempt is left."""
        from anthropic import Timeout

        return Timeout(min(self._read_seconds, seconds), connect=min(_CONNECT_SECONDS, seconds / 2))


_ANSWERED: frozenset[FailureKind] = frozenset({"refused", "truncated", "empty", "invalid"})


async def _first_taken(
    calls: _Calls, model: str, attempt: Callable[[Features, float], Awaitable[object]], budget: float
) -> Features | ModelFailure:
    """The first form of a request, best first, that the service does not reject; `attempt` sends one within some seconds."""
    deadline = asyncio.get_running_loop().time() + budget
    found = await _look_up(calls, model, budget)
    if isinstance(found, ModelFailure):
        return found
    outcome: object = None
    for form in dict.fromkeys((found, replace(found, forced_tool=False), _CAREFUL)):
        outcome = await attempt(form, deadline - asyncio.get_running_loop().time())
        if not isinstance(outcome, ModelFailure) or outcome.kind in _ANSWERED:
            return form
        if outcome.kind != "rejected_request":
            break
    assert isinstance(outcome, ModelFailure)
    return outcome


async def _look_up(calls: _Calls, model: str, budget: float) -> Features | ModelFailure:
    """The most that `model` may take, by the table and the service's own list; a retired model is a failure."""
    known = _KNOWN.get(model, _HOPEFUL)
    try:
        async with asyncio.timeout(budget):
            async for info in calls.client.models.list(limit=1000, timeout=calls.timeout(budget)):
                if info.id != model:
                    continue
                if info.lifecycle == "retired":
                    return _failed("rejected_request", f"{model} is retired")
                return replace(known, effort=info.capabilities.effort.low.supported) if info.capabilities else known
    except TimeoutError:
        return _failed("timeout", f"no list of models within {budget:.1f} s")
    except Exception as error:  # whatever client or transport raises becomes a value (UN-10)
        return failure_of(error)
    return known


_OVERLOADED = frozenset({408, 409, 429, 500, 502, 503, 529})
_SPENT = frozenset({"contract_spend_limit_reached", "enforced_spend_limit_reached", "ramp_limit_exceeded"})


def failure_of(error: Exception) -> ModelFailure:
    """The kind of failure that an exception of the vendor's client stands for."""
    import anthropic
    import httpx2

    detail = f"{type(error).__name__}: {error}"
    if isinstance(error, anthropic.APIStatusError):
        return _failed_status(error.status_code, f"{detail} [{error.request_id}]", getattr(error, "error_code", None))
    cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) else error
    if isinstance(cause, httpx2.ConnectTimeout):
        return _failed("unreachable", detail)
    if isinstance(error, anthropic.APITimeoutError) or isinstance(cause, httpx2.TimeoutException):
        return _failed("timeout", detail)
    if isinstance(error, anthropic.APIConnectionError) or isinstance(cause, httpx2.TransportError):
        return _failed("unreachable", detail)
    return _failed("invalid", detail)


def _failed_status(status: int, detail: str, code: str | None) -> ModelFailure:
    if code in _SPENT:
        return _failed("overloaded", detail, retryable=False)
    if status == 504:
        return _failed("timeout", detail)
    if status in _OVERLOADED or status > 504:
        return _failed("overloaded", detail)
    return _failed("rejected_request", detail)


def _pause(error: Exception) -> float:
    """Seconds that the server asks to wait, else a short pause."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        asked = float(headers.get("retry-after", _PAUSE))
    except ValueError:
        return _PAUSE
    return asked if asked >= 0 else _PAUSE
