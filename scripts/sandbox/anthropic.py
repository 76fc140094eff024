"""The stand-in for the Anthropic API: /v1/messages (whole and as a stream), /v1/messages/count_tokens, /v1/models.

It refuses what the real service refuses (`anthropic_rules`), answers in the real shapes, and can misbehave in every way that the
service and the network between are known to. What it says comes from the rule-based sandbox model (`sandbox_model`), never from a
language model, and every answer says so in the header `x-sandbox-model`.

Invariants: a model that thinks by default answers with a thinking block first, unless a tool is forced; thinking counts in `max_tokens`, so
a small budget gives an answer without text; every exchange stands in `World.log` with its purpose (reading, draft, other), status and fault.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from scripts.sandbox import sandbox_model
from scripts.sandbox.anthropic_rules import MODELS, Objection, forced, objection, thinks, unauthorised
from scripts.sandbox.faults import Fault, register
from scripts.sandbox.wire import Reset, hang_up
from scripts.sandbox.world import World

PROVIDER = "anthropic"
THINKING_TOKENS = 60
"""What a thinking block costs."""

_STATUS = {
    register("anthropic.rate_limited", "429 with `retry_after` (seconds, default 0.05)"): (429, "rate_limit_error"),
    register("anthropic.spend_limit", "429 because the contract's spend limit is reached: no retry helps"): (
        429,
        "rate_limit_error",
    ),
    register("anthropic.overloaded", "529 overloaded_error"): (529, "overloaded_error"),
    register("anthropic.server_error", "500 api_error"): (500, "api_error"),
    register("anthropic.unavailable", "503 api_error"): (503, "api_error"),
    register("anthropic.gateway_timeout", "504 timeout_error"): (504, "timeout_error"),
    register("anthropic.unauthorized", "401 authentication_error"): (401, "authentication_error"),
    register("anthropic.bad_request", "400 invalid_request_error"): (400, "invalid_request_error"),
}
_CONTENT = (
    register("anthropic.empty", "no content block at all, end_turn"),
    register("anthropic.blank", "one text block of white space, or a tool call with an empty input"),
    register("anthropic.thinking_only", "a thinking block and nothing else, stop reason max_tokens"),
    register("anthropic.refusal", "stop reason refusal with partial text"),
    register("anthropic.truncated", "cut in the middle, stop reason max_tokens; a tool's input is partial"),
    register("anthropic.invalid_tool_json", "a whole answer whose tool input or JSON does not have the schema's shape"),
    register("anthropic.prose", "friendly prose instead of the wanted block, end_turn"),
    register("anthropic.parallel_tools", "the tool call twice, the second one different"),
    register("anthropic.text_and_tool", "chatty text before the wanted block"),
    register("anthropic.unknown_block", "an unknown block before the wanted one; in a stream unknown events, too"),
    register("anthropic.stop_reason", "the whole answer with `stop_reason` (default pause_turn)"),
)
SLOW = register("anthropic.slow", "the first byte comes `seconds` late (default 1)")
STALL = register("anthropic.stall", "half of the answer, then silence for `seconds` (default until the caller leaves)")
DROP = register("anthropic.drop", "the connection is reset, `at` = before (default) or middle")
GARBAGE = register("anthropic.garbage", "200 with `body` (default an HTML page), content type `content_type`")
NO_STOP = register(
    "anthropic.no_message_stop", "streams only: ends after the deltas, without message_delta and message_stop"
)
ERROR_EVENT = register(
    "anthropic.error_event", "streams only: an overloaded error event, `at` = first (default) or middle"
)
BROKEN_JSON = register("anthropic.broken_stream_json", "streams only: the tool's JSON is broken syntax")
NO_EVENT_LINES = register("anthropic.no_event_lines", "streams only: frames lack their event line")
MODELS_DOWN = register("anthropic.models_down", "the list of models answers 500")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer before it is written: blocks, stop reason and what it cost."""

    content: tuple[dict[str, Any], ...]
    stop_reason: str
    output_tokens: int = 0
    stop_details: dict[str, Any] | None = None


@dataclass(slots=True)
class _Service:
    """The state of one stand-in: its world and the prompt prefixes that are cached."""

    world: World
    cached: set[str] = field(default_factory=set)

    async def messages(self, request: Request) -> Response:
        """POST /v1/messages."""
        started = time.perf_counter()
        raw = await request.body()
        refusal, body = self._checked(request, raw)
        if refusal is not None:
            return self._refused(refusal, raw, started, "messages")
        if (fault := self.world.faults.take(SLOW)) and await self._left(request, float(fault.get("seconds", 1.0))):
            self.world.see(PROVIDER, "messages", started=started, body=raw, fault=SLOW)
            return Response(status_code=499)
        for name, (status, kind) in _STATUS.items():
            if fault := self.world.faults.take(name):
                return self._failed(fault, status, kind, raw, started)
        if fault := self.world.faults.take(GARBAGE):
            return self._garbage(fault, raw, started)
        drop = self.world.faults.take(DROP)
        if drop and drop.get("at", "before") == "before":
            self.world.see(PROVIDER, "messages", started=started, body=raw, fault=DROP)
            return Reset()
        purpose, reply = self._reply(body)
        fault_name = None
        for name in _CONTENT:
            if fault := self.world.faults.take(name):
                reply, fault_name = _spoilt(reply, fault, body), name
        message = self._message(body, reply)
        meta = {
            "path": request.url.path,
            "status": 200,
            "purpose": purpose,
            "model": body["model"],
            "fault": fault_name,
        }
        headers = self._headers()
        broken = drop or self.world.faults.take(STALL)
        if body.get("stream"):
            frames = self._frames(message, bool(fault_name == "anthropic.unknown_block"), broken)
            stream = self._stream(request.scope, frames, broken, started, raw, meta)
            return StreamingResponse(stream, media_type="text/event-stream", headers=headers)
        answer = json.dumps(message, ensure_ascii=False).encode()
        self.world.see(
            PROVIDER,
            "messages",
            started=started,
            body=raw,
            answer=answer,
            **(meta | ({"fault": broken.name} if broken else {})),
        )
        if broken:
            return _Half(answer, broken, self.world, headers)
        return Response(answer, media_type="application/json", headers=headers)

    async def count_tokens(self, request: Request) -> Response:
        """POST /v1/messages/count_tokens."""
        started = time.perf_counter()
        raw = await request.body()
        refusal, body = self._checked(request, raw, counting=True)
        if refusal is not None:
            return self._refused(refusal, raw, started, "count_tokens")
        answer = json.dumps({"input_tokens": _input_tokens(body)}).encode()
        self.world.see(PROVIDER, "count_tokens", started=started, body=raw, answer=answer, status=200)
        return Response(answer, media_type="application/json", headers=self._headers())

    async def models(self, request: Request) -> Response:
        """GET /v1/models and /v1/models/{id}."""
        started = time.perf_counter()
        refusal = unauthorised(request.headers, self.world.keys.anthropic_api_key)
        if refusal is None and self.world.faults.take(MODELS_DOWN):
            refusal = Objection(500, "api_error", "Internal server error")
        wanted = request.path_params.get("id")
        if refusal is None and wanted is not None and wanted not in MODELS:
            refusal = Objection(404, "not_found_error", f"model: {wanted}")
        if refusal is not None:
            return self._refused(refusal, b"", started, "models")
        infos = [_info(name) for name in MODELS]
        listed = {"data": infos, "has_more": False, "first_id": infos[0]["id"], "last_id": infos[-1]["id"]}
        answer = json.dumps(_info(wanted) if wanted else listed).encode()
        self.world.see(PROVIDER, "models", started=started, answer=answer, status=200)
        return Response(answer, media_type="application/json", headers=self._headers())

    async def _left(self, request: Request, seconds: float) -> bool:
        """Waits; whether the caller left meanwhile (then further faults belong to the next one)."""
        until = time.perf_counter() + seconds
        while time.perf_counter() < until and not self.world.closing.is_set():
            if await request.is_disconnected():
                return True
            await self.world.pause(0.02)
        return False

    def _checked(self, request: Request, raw: bytes, counting: bool = False) -> tuple[Objection | None, Any]:
        refusal = unauthorised(request.headers, self.world.keys.anthropic_api_key)
        if refusal is not None:
            return refusal, None
        try:
            body = json.loads(raw)
        except ValueError:
            return Objection(400, "invalid_request_error", "The request body is not valid JSON"), None
        return objection(request.headers, body, counting=counting), body

    def _headers(self) -> dict[str, str]:
        return {"request-id": self.world.sid("req_"), "x-sandbox-model": sandbox_model.LABEL}

    def _refused(self, refusal: Objection, raw: bytes, started: float, kind: str) -> Response:
        headers = self._headers()
        error = {"type": refusal.type, "message": refusal.message}
        answer = {"type": "error", "error": error, "request_id": headers["request-id"]}
        self.world.see(
            PROVIDER, kind, started=started, body=raw, answer=json.dumps(answer).encode(), status=refusal.status
        )
        return JSONResponse(answer, refusal.status, headers)

    def _failed(self, fault: Fault, status: int, kind: str, raw: bytes, started: float) -> Response:
        headers = self._headers()
        error: dict[str, Any] = {"type": kind, "message": str(fault.get("message", "Sandbox fault"))}
        if fault.name == "anthropic.spend_limit":
            error["details"] = {"error_code": "contract_spend_limit_reached"}
        if fault.name == "anthropic.rate_limited":
            headers["retry-after"] = str(fault.get("retry_after", 0.05))
        answer = {"type": "error", "error": error, "request_id": headers["request-id"]}
        self.world.see(
            PROVIDER,
            "messages",
            started=started,
            body=raw,
            answer=json.dumps(answer).encode(),
            status=status,
            fault=fault.name,
        )
        return JSONResponse(answer, status, headers)

    def _garbage(self, fault: Fault, raw: bytes, started: float) -> Response:
        page = str(fault.get("body", "<html><body>It works!</body></html>")).encode()
        kind = str(fault.get("content_type", "text/html"))
        self.world.see(PROVIDER, "messages", started=started, body=raw, answer=page, status=200, fault=GARBAGE)
        return Response(page, media_type=kind, headers=self._headers())

    def _reply(self, body: Mapping[str, Any]) -> tuple[str, Reply]:
        """What the sandbox model, or the script, says to a valid request."""
        text = _last_text(body)
        purpose = sandbox_model.purpose(text)
        scripted = _scripted(self.world.model_script, purpose)
        if "message" in scripted:
            written = scripted["message"]
            content = tuple(dict(block) for block in written.get("content", ()))
            return purpose, Reply(content, written.get("stop_reason", "end_turn"), _cost(content))
        block = self._block(body, text, purpose, scripted)
        reply = Reply((block,), "tool_use" if block["type"] == "tool_use" else "end_turn")
        return purpose, _budgeted(reply, body["max_tokens"], THINKING_TOKENS if thinks(body) else 0)

    def _block(self, body: Mapping[str, Any], text: str, purpose: str, scripted: Mapping[str, Any]) -> dict[str, Any]:
        if purpose == "reading":
            reading = scripted["reading"] if "reading" in scripted else sandbox_model.answer_reading(text)
            if forced(body):
                name = body["tool_choice"].get("name") or body["tools"][0]["name"]
                return {"type": "tool_use", "id": self.world.sid("toolu_"), "name": name, "input": reading}
            return {"type": "text", "text": json.dumps(reading, ensure_ascii=False)}
        if purpose == "draft":
            return {
                "type": "text",
                "text": scripted["draft"] if "draft" in scripted else sandbox_model.answer_draft(text),
            }
        if forced(body):
            name = body["tool_choice"].get("name") or body["tools"][0]["name"]
            return {"type": "tool_use", "id": self.world.sid("toolu_"), "name": name, "input": {}}
        return {
            "type": "text",
            "text": "This is the sandbox model. It reads and drafts for Clara and knows nothing else.",
        }

    def _message(self, body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
        prefix = hashlib.sha256(
            json.dumps([body.get("tools"), body.get("system")], sort_keys=True).encode()
        ).hexdigest()
        total, stable = _input_tokens(body), _tokens(json.dumps([body.get("tools"), body.get("system")]))
        cacheable = (
            stable if "cache_control" in json.dumps([body.get("tools"), body.get("system")]) and stable >= 512 else 0
        )
        read = cacheable if prefix in self.cached else 0
        self.cached.add(prefix)
        return {
            "id": self.world.sid("msg_"),
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": list(reply.content),
            "stop_reason": reply.stop_reason,
            "stop_sequence": None,
            "stop_details": reply.stop_details,
            "usage": {
                "input_tokens": max(total - cacheable, 1),
                "cache_creation_input_tokens": cacheable - read,
                "cache_read_input_tokens": read,
                "output_tokens": reply.output_tokens,
            },
        }

    def _frames(self, message: Mapping[str, Any], unknown: bool, broken: Fault | None) -> list[bytes]:
        faults = self.world.faults
        bare = faults.take(NO_EVENT_LINES) is not None
        frames = list(_events(message, unknown, faults.take(BROKEN_JSON) is not None))
        if error := faults.take(ERROR_EVENT):
            at = 0 if error.get("at", "first") == "first" else len(frames) // 2
            failure = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
            frames = [*frames[:at], failure]
        elif faults.take(NO_STOP):
            frames = [frame for frame in frames if frame["type"] not in ("message_delta", "message_stop")]
        if broken:
            frames = frames[: len(frames) // 2]
        return [_frame(frame, bare) for frame in frames]

    async def _stream(
        self, scope: Scope, frames: list[bytes], broken: Fault | None, started: float, raw: bytes, meta: dict[str, Any]
    ) -> AsyncIterator[bytes]:
        sent = bytearray()
        try:
            for frame in frames:
                sent += frame
                yield frame
            if broken and broken.name == DROP:
                await asyncio.sleep(0.02)  # lets what was written leave before the reset
                hang_up(scope)
            elif broken:
                await self.world.pause(float(broken.get("seconds", 3600.0)))
        finally:
            told = meta | {"stream": True} | ({"fault": broken.name} if broken else {})
            self.world.see(PROVIDER, "messages", started=started, body=raw, answer=bytes(sent), **told)


def routes(world: World) -> list[BaseRoute]:
    """The stand-in's routes; all state is in `world` and in here."""
    service = _Service(world)
    return [
        Route("/v1/messages", service.messages, methods=["POST"]),
        Route("/v1/messages/count_tokens", service.count_tokens, methods=["POST"]),
        Route("/v1/models", service.models, methods=["GET"]),
        Route("/v1/models/{id}", service.models, methods=["GET"]),
    ]


class _Half(Response):
    """The first half of an answer, then a reset or silence."""

    def __init__(self, content: bytes, fault: Fault, world: World, headers: Mapping[str, str]) -> None:
        super().__init__(content, media_type="application/json", headers=headers)
        self._fault = fault
        self._world = world

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        half = bytes(self.body)[: len(self.body) // 2]
        await send({"type": "http.response.body", "body": half, "more_body": True})
        if self._fault.name == STALL:
            seconds = float(self._fault.get("seconds", 3600.0))
            left = asyncio.ensure_future(receive())
            pause = asyncio.ensure_future(self._world.pause(seconds))
            with contextlib.suppress(asyncio.CancelledError):  # the sandbox ends, and the silence with it
                await asyncio.wait({left, pause}, return_when=asyncio.FIRST_COMPLETED)
            left.cancel()
            pause.cancel()
        else:
            await asyncio.sleep(0.02)  # lets what was written leave before the reset
        hang_up(scope)


def _scripted(script: list[dict[str, Any]], purpose: str) -> dict[str, Any]:
    """The next scripted answer that fits, taken off the script: `message` fits any request, `reading` and `draft` their own."""
    for i, entry in enumerate(script):
        if "message" in entry or purpose in entry:
            return script.pop(i)
    return {}


def _spoilt(reply: Reply, fault: Fault, body: Mapping[str, Any]) -> Reply:
    """`reply` as the fault makes it."""
    wanted = reply.content[-1] if reply.content else {"type": "text", "text": ""}
    rest = reply.content[:-1]
    tool = wanted["type"] == "tool_use"
    chat: dict[str, Any] = {"type": "text", "text": "Sure, let me look at that for you!"}
    match fault.name.removeprefix("anthropic."):
        case "empty":
            return replace(reply, content=(), stop_reason="end_turn")
        case "blank":
            blank: dict[str, Any] = {"input": {}} if tool else {"text": " \n"}
            return replace(reply, content=(*rest, wanted | blank))
        case "thinking_only":
            return Reply((_thinking(),), "max_tokens", int(body["max_tokens"]))
        case "refusal":
            details = {"type": "refusal", "category": None, "explanation": "sandbox"}
            return Reply(({"type": "text", "text": "Well, the visit on"},), "refusal", 5, details)
        case "truncated":
            return replace(reply, content=(*rest, _cut(wanted, 0.5)), stop_reason="max_tokens")
        case "invalid_tool_json":
            odd = {"intents": "request_tour", "confidence": 0.93}
            shape: dict[str, Any] = {"input": odd} if tool else {"text": json.dumps(odd)}
            return replace(reply, content=(*rest, wanted | shape))
        case "prose":
            return replace(reply, content=(*rest, chat), stop_reason="end_turn")
        case "parallel_tools":
            second = wanted | {"id": f"{wanted.get('id')}b", "input": {"language": "en"}}
            return replace(reply, content=(*rest, wanted, second) if tool else (*rest, wanted, wanted))
        case "text_and_tool":
            return replace(reply, content=(*rest, chat, wanted))
        case "unknown_block":
            return replace(reply, content=({"type": "hologram", "shape": "cube"}, *rest, wanted))
        case _:
            return replace(reply, stop_reason=str(fault.get("stop_reason", "pause_turn")))


def _budgeted(reply: Reply, limit: int, thinking: int) -> Reply:
    """`reply` with its thinking in front, cut where the token budget ends."""
    front: tuple[dict[str, Any], ...] = (_thinking(),) if thinking else ()
    cost = thinking + _cost(reply.content)
    if cost <= limit:
        return replace(reply, content=(*front, *reply.content), output_tokens=cost)
    left = (limit - thinking) / max(cost - thinking, 1)
    kept = (_cut(reply.content[0], left),) if left > 0 else ()
    return Reply((*front, *kept) if limit else (), "max_tokens", limit)


def _cut(block: Mapping[str, Any], share: float) -> dict[str, Any]:
    """The first part of a block, as a spent budget leaves it."""
    if block["type"] == "tool_use":
        names = list(block["input"])
        return {**block, "input": {name: block["input"][name] for name in names[: int(len(names) * share)]}}
    return {**block, "text": block["text"][: int(len(block["text"]) * share)]}


def _thinking() -> dict[str, Any]:
    return {"type": "thinking", "thinking": "", "signature": "c2FuZGJveA=="}


def _tokens(text: str) -> int:
    return len(text) // 4 + 1


def _cost(content: tuple[dict[str, Any], ...]) -> int:
    return sum(_tokens(json.dumps(block.get("input", block.get("text", "")), ensure_ascii=False)) for block in content)


def _input_tokens(body: Mapping[str, Any]) -> int:
    return _tokens(json.dumps([body.get("tools"), body.get("system"), body["messages"]], ensure_ascii=False))


def _last_text(body: Mapping[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")


def _info(name: str) -> dict[str, Any]:
    model = MODELS[name]
    yes, no = {"supported": True}, {"supported": False}
    effort: dict[str, Any] = dict.fromkeys(("low", "medium", "high", "xhigh", "max"), yes if model.effort else no)
    kinds = {
        "adaptive": {"supported": model.thinks},
        "between_tools": {"supported": model.thinks},
        "disabled": {"supported": model.off},
        "enabled": {"supported": model.budget},
    }
    capabilities = {
        **dict.fromkeys(("batch", "citations", "code_execution", "image_input", "pdf_input", "server_tools"), yes),
        "context_management": yes,
        "effort": {"supported": model.effort, **effort},
        "structured_outputs": yes,
        "thinking": {"supported": True, "types": kinds},
    }
    return {
        "id": name,
        "type": "model",
        "display_name": name.replace("-", " ").title(),
        "created_at": model.created,
        "lifecycle": "retired" if model.retired else "active",
        "max_tokens": model.max_tokens,
        "max_input_tokens": 1_000_000,
        "capabilities": capabilities,
    }


def _frame(event: Mapping[str, Any], bare: bool) -> bytes:
    data = f"data: {json.dumps(event, ensure_ascii=False)}\n\n"
    return (data if bare else f"event: {event['type']}\n{data}").encode()


def _events(message: Mapping[str, Any], unknown: bool, broken_json: bool) -> Iterator[dict[str, Any]]:
    """The events of a streamed answer."""
    opening = {**message, "content": [], "stop_reason": None, "stop_details": None}
    opening["usage"] = {**message["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": opening}
    yield {"type": "ping"}
    if unknown:
        yield {"type": "content_hologram", "index": 0}
    for index, block in enumerate(message["content"]):
        start, deltas = _deltas(block, broken_json)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {key: message[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def _deltas(block: Mapping[str, Any], broken_json: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "text":
        pieces = _pieces(block["text"], 24)
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
    if block["type"] == "thinking":
        return {**block, "signature": ""}, [{"type": "signature_delta", "signature": block["signature"]}]
    if block["type"] == "tool_use":
        written = json.dumps(block["input"], ensure_ascii=False)
        written = "{=" + written if broken_json else written
        pieces = _pieces(written, 40) if block["input"] or broken_json else []
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return dict(block), []


def _pieces(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]
