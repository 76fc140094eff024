"""What the Messages API refuses: the checks of the model stand-in, so that a request which production rejects fails in tests too.

Pure. `objection` looks at one request and answers with the first thing that the real service would refuse, or None. It is stricter than
the real service only where that service's behaviour is not documented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

VERSIONS = ("2023-06-01", "2026-10-21")


@dataclass(frozen=True, slots=True)
class Model:
    """What one model takes. `forced`: a forced tool; `off`: thinking disabled; `budget`: thinking with a token budget; `thinks`: by default."""

    forced: bool
    off: bool
    budget: bool
    thinks: bool
    effort: bool
    created: str
    max_tokens: int = 128_000
    retired: bool = False


_NEWEST = Model(forced=False, off=False, budget=False, thinks=True, effort=True, created="2026-09-01T00:00:00Z")
_OLDER = Model(forced=True, off=True, budget=True, thinks=False, effort=True, created="2026-02-01T00:00:00Z")
MODELS: Mapping[str, Model] = {
    "claude-haiku-5-5": Model(
        forced=True, off=True, budget=False, thinks=True, effort=True, created="2026-10-07T00:00:00Z"
    ),
    "claude-sonnet-5-5": _NEWEST,
    "claude-opus-5-5": _NEWEST,
    "claude-fable-5-2": _NEWEST,
    "claude-sonnet-5": Model(
        forced=True, off=True, budget=False, thinks=True, effort=True, created="2026-06-01T00:00:00Z"
    ),
    "claude-opus-4-8": _OLDER,
    "claude-sonnet-4-6": _OLDER,
    "claude-haiku-4-5": Model(
        forced=True,
        off=True,
        budget=True,
        thinks=False,
        effort=False,
        created="2025-10-01T00:00:00Z",
        max_tokens=64_000,
    ),
    "claude-sonnet-4-5": replace(_OLDER, created="2025-09-29T00:00:00Z", max_tokens=64_000, retired=True),
}
"""The models that the stand-in knows; any other id, and a retired one, is 404."""

_KEYS = frozenset(
    [
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "cache_control",
        "stop_sequences",
        "metadata",
        "service_tier",
        "speed",
        "inference_geo",
        "container",
        "diagnostics",
        "user_profile_id",
        "workspace_id",
        "stream",
    ]
)
_SAMPLING = ("temperature", "top_p", "top_k")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_BLOCKS = frozenset(["text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking"])
_KEYWORDS = frozenset(
    [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "allOf",
        "$ref",
        "$defs",
        "format",
        "description",
        "title",
        "default",
        "minItems",
    ]
)
_FORMATS = frozenset(["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"])
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True)
class Objection:
    """A refusal: HTTP status, error type and message."""

    status: int
    type: str
    message: str


class _Invalid(ValueError):
    """A 400; the message says where."""


def unauthorised(headers: Mapping[str, str], key: str) -> Objection | None:
    """Whether the credentials are refused; with both headers, x-api-key wins."""
    given = headers.get("x-api-key")
    if given is None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = token if scheme.lower() == "bearer" else None
    if given is None:
        return Objection(401, "authentication_error", "x-api-key header or bearer token is required")
    return None if given == key else Objection(401, "authentication_error", "invalid x-api-key")


def objection(headers: Mapping[str, str], body: Any, *, counting: bool = False) -> Objection | None:
    """The first thing that is wrong with a request to /v1/messages (or, `counting`, to /v1/messages/count_tokens)."""
    version = headers.get("anthropic-version")
    if version not in VERSIONS:
        return Objection(
            400, "invalid_request_error", "anthropic-version: header is required and must be a known version"
        )
    try:
        if not isinstance(body, dict):
            raise _Invalid("the body must be a JSON object")
        _keys(body, version, counting)
        model = MODELS.get(body["model"])
        if model is None or model.retired:
            return Objection(404, "not_found_error", f"model: {body['model']}")
        _limits(body, model, counting)
        _system(body.get("system"))
        _messages(body["messages"])
        _tools(body, model)
        _output(body, model)
        _thinking(body, model)
        if len(list(_breakpoints(body))) > 4:
            raise _Invalid("A maximum of 4 blocks with cache_control may be provided")
    except _Invalid as wrong:
        return Objection(400, "invalid_request_error", str(wrong))
    return None


def forced(body: Mapping[str, Any]) -> bool:
    """Whether the request forces a tool call."""
    return (body.get("tool_choice") or {}).get("type") in ("any", "tool")


def thinks(body: Mapping[str, Any]) -> bool:
    """Whether the answer to a valid request starts with a thinking block."""
    kind = (body.get("thinking") or {}).get("type")
    if forced(body) or kind in ("disabled", "between_tools"):
        return False
    return kind is not None or MODELS[body["model"]].thinks


def _keys(body: Mapping[str, Any], version: str, counting: bool) -> None:
    for key in body:
        if key in _SAMPLING and version == VERSIONS[0] and not MODELS.get(str(body.get("model")), _NEWEST).effort:
            continue
        if key not in _KEYS:
            raise _Invalid(f"{key}: Extra inputs are not permitted")
    for key in ("model", "messages", *(() if counting else ("max_tokens",))):
        if key not in body:
            raise _Invalid(f"{key}: Field required")
    if not isinstance(body["model"], str):
        raise _Invalid("model: Input should be a valid string")


def _limits(body: Mapping[str, Any], model: Model, counting: bool) -> None:
    limit = body.get("max_tokens", 1)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise _Invalid("max_tokens: Input should be a valid integer of 0 or more")
    if limit > model.max_tokens and not counting:
        raise _Invalid(
            f"max_tokens: {limit} > {model.max_tokens}, which is the maximum allowed number of output tokens"
        )
    if not isinstance(body.get("stream", False), bool):
        raise _Invalid("stream: Input should be a valid boolean")


def _system(system: Any) -> None:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        raise _Invalid("system: Input should be a valid string or list")
    for i, block in enumerate(system):
        if not isinstance(block, dict) or block.get("type") != "text":
            raise _Invalid(f"system.{i}: Input tag found using 'type' does not match any of the expected tags: 'text'")
        _text(block.get("text"), f"system.{i}")


def _text(text: Any, where: str) -> None:
    if not isinstance(text, str):
        raise _Invalid(f"{where}.text: Input should be a valid string")
    if not text:
        raise _Invalid(f"{where}: text content blocks must be non-empty")
    if not text.strip():
        raise _Invalid(f"{where}: text content blocks must contain non-whitespace text")


def _messages(messages: Any) -> None:
    if not isinstance(messages, list) or not messages:
        raise _Invalid("messages: at least one message is required")
    waiting: list[str] = []  # ids of tool calls that the next message must answer
    for i, message in enumerate(messages):
        where = f"messages.{i}"
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant", "system"):
            raise _Invalid(f"{where}.role: Input should be 'user', 'assistant' or 'system'")
        if set(message) - {"role", "content"}:
            raise _Invalid(f"{where}: Extra inputs are not permitted")
        blocks = _content(message.get("content"), message["role"], where, last=i == len(messages) - 1)
        _answers(blocks, waiting, where)
        waiting = [str(block.get("id")) for block in blocks if block["type"] == "tool_use"]
    if waiting:
        raise _Invalid("messages: `tool_use` ids were found without `tool_result` blocks immediately after")
    if messages[0]["role"] == "assistant":
        raise _Invalid("messages: first message must use the user role")
    if messages[-1]["role"] == "assistant":
        raise _Invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def _content(content: Any, role: str, where: str, last: bool) -> list[dict[str, Any]]:
    if isinstance(content, str):
        if not content and not (last and role == "assistant"):
            raise _Invalid(f"{where}: all messages must have non-empty content")
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise _Invalid(f"{where}.content: Input should be a valid string or list")
    if not content and not (last and role == "assistant"):
        raise _Invalid(
            f"{where}: all messages must have non-empty content except for the optional final assistant message"
        )
    for j, block in enumerate(content):
        place = f"{where}.content.{j}"
        if not isinstance(block, dict) or block.get("type") not in _BLOCKS:
            raise _Invalid(f"{place}: Input tag does not match any of the expected tags")
        if block["type"] == "text":
            _text(block.get("text"), place)
        if block["type"] == "text" and role == "user" and block.get("citations"):
            raise _Invalid(f"{place}.citations: Extra inputs are not permitted")
        if block["type"] in ("document", "tool_result") and role == "assistant":
            raise _Invalid(f"{place}: `{block['type']}` blocks are not permitted in assistant messages")
        if block["type"] in ("tool_use", "thinking", "redacted_thinking") and role != "assistant":
            raise _Invalid(f"{place}: `{block['type']}` blocks can only be in assistant messages")
    return content


def _answers(blocks: list[dict[str, Any]], waiting: list[str], where: str) -> None:
    """Results of all tool calls of the message before stand first, and nothing else answers."""
    results = [block for block in blocks if block["type"] == "tool_result"]
    if waiting and sorted(waiting) != sorted(str(block.get("tool_use_id")) for block in blocks[: len(waiting)]):
        raise _Invalid(f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after")
    if len(results) > len(waiting):
        raise _Invalid(f"{where}: unexpected `tool_use_id` found in `tool_result` blocks")


def _tools(body: Mapping[str, Any], model: Model) -> None:
    tools = body.get("tools") or []
    names = []
    for i, tool in enumerate(tools):
        if not isinstance(tool, dict) or not _NAME.fullmatch(str(tool.get("name", ""))):
            raise _Invalid(f"tools.{i}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        names.append(tool["name"])
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise _Invalid(f"tools.{i}.input_schema.type: Field required")
        if tool.get("strict"):
            _schema(schema, f"tools.{i}.input_schema")
    if len(set(names)) < len(names):
        raise _Invalid("tools: Tool names must be unique.")
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not isinstance(choice, dict) or choice.get("type") not in ("auto", "any", "tool", "none"):
        raise _Invalid("tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'")
    if not tools:
        raise _Invalid("tool_choice: may only be specified while providing tools")
    if choice["type"] == "tool" and choice.get("name") not in names:
        raise _Invalid(f"tool_choice: Tool '{choice.get('name')}' not found in provided tools")
    thinking = (body.get("thinking") or {}).get("type")
    if forced(body) and (not model.forced or (not model.thinks and thinking in ("adaptive", "enabled"))):
        raise _Invalid("tool_choice: Thinking may not be enabled when tool_choice forces tool use.")


def _output(body: Mapping[str, Any], model: Model) -> None:
    output = body.get("output_config") or {}
    if not isinstance(output, dict) or set(output) - {"effort", "format"}:
        raise _Invalid("output_config: Extra inputs are not permitted")
    if "effort" in output:
        if not model.effort:
            raise _Invalid("output_config.effort: This model does not support the effort parameter.")
        if output["effort"] not in _EFFORTS:
            raise _Invalid("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
    if "format" in output:
        form = output["format"]
        if not isinstance(form, dict) or form.get("type") != "json_schema" or set(form) != {"type", "schema"}:
            raise _Invalid("output_config.format: Input should be {'type': 'json_schema', 'schema': ...}")
        _schema(form["schema"], "output_config.format.schema")


def _thinking(body: Mapping[str, Any], model: Model) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    effort = (body.get("output_config") or {}).get("effort")
    if kind == "enabled":
        budget = thinking.get("budget_tokens")
        if not model.budget:
            raise _Invalid("thinking.type: 'enabled' is not supported by this model; use 'adaptive'")
        if not isinstance(budget, int) or budget < 1024 or budget >= body.get("max_tokens", 0):
            raise _Invalid("thinking.enabled.budget_tokens: must be at least 1024 and less than `max_tokens`")
    elif kind == "disabled":
        if not model.off or (model.thinks and effort in ("xhigh", "max")):
            raise _Invalid("thinking.type: 'disabled' is not supported by this model")
    elif kind not in ("adaptive", "between_tools"):
        raise _Invalid("thinking.type: Input should be 'adaptive', 'enabled', 'disabled' or 'between_tools'")


def _schema(schema: Any, where: str) -> None:
    """The subset of JSON Schema that strict tools and structured answers take."""
    if not isinstance(schema, dict):
        raise _Invalid(f"{where}: Input should be an object")
    for key in schema:
        if key not in _KEYWORDS:
            raise _Invalid(f"{where}: For this schema, property '{key}' is not supported")
    kinds = schema.get("type")
    if "object" in (kinds if isinstance(kinds, list) else [kinds]) and schema.get("additionalProperties") is not False:
        raise _Invalid(f"{where}: For 'object' type, 'additionalProperties' must be explicitly set to false")
    if schema.get("minItems", 0) not in (0, 1):
        raise _Invalid(f"{where}: For 'array' type, 'minItems' values other than 0 or 1 are not supported")
    if "format" in schema and schema["format"] not in _FORMATS:
        raise _Invalid(f"{where}: format '{schema['format']}' is not supported")
    unknown = set(schema.get("required", ())) - set(schema.get("properties", {}))
    if unknown:
        raise _Invalid(f"{where}: required names that are no properties: {sorted(unknown)}")
    for part in ("properties", "$defs"):
        for name, inner in schema.get(part, {}).items():
            _schema(inner, f"{where}.{part}.{name}")
    for part in ("anyOf", "allOf"):
        for i, inner in enumerate(schema.get(part, ())):
            _schema(inner, f"{where}.{part}.{i}")
    if "items" in schema:
        _schema(schema["items"], f"{where}.items")


def _breakpoints(value: Any) -> Iterator[str]:
    """Where cache_control stands."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "cache_control":
                yield key
            elif key != "input_schema":
                yield from _breakpoints(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _breakpoints(inner)
