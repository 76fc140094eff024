"""The stand-in for the Messages API: as strict as the real service, in its shapes, and able to fail as it does (EV-2)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import httpx2
import pytest
import pytest_asyncio

from gateway.anthropic_model import reader_message
from pipeline.core.reading import parse_reading, reading_schema
from pipeline.ports import ReadRequest
from scripts.sandbox.anthropic_rules import VERSIONS, objection
from scripts.sandbox.app import Sandbox
from scripts.sandbox.world import World

one_loop = pytest.mark.asyncio(loop_scope="module")
HAIKU, SONNET, OPUS, OLD = "claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-4-5"
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
READ: list[Any] = [
    {
        "role": "user",
        "content": reader_message(ReadRequest("I'd like to tour", "sms", "en", "2026-07-16T09:12", "UTC", "M")),
    }
]
TOOL: dict[str, Any] = {"name": "record_reading", "input_schema": reading_schema(), "strict": True}
FORCED: dict[str, Any] = {"type": "tool", "name": "record_reading"}


class Live:
    """The running stand-in and the vendor's client."""

    def __init__(self, world: World, client: anthropic.AsyncAnthropic) -> None:
        self.world = world
        self.client = client

    async def create(self, **given: Any) -> anthropic.types.Message:
        asked: dict[str, Any] = {"model": HAIKU, "max_tokens": 2000, "messages": HELLO}
        answer = await self.client.messages.create(**(asked | given))
        assert isinstance(answer, anthropic.types.Message)
        return answer

    def stream(self, **given: Any) -> Any:
        asked: dict[str, Any] = {"model": HAIKU, "max_tokens": 2000, "messages": HELLO}
        return self.client.messages.stream(**(asked | given))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running() -> AsyncIterator[Live]:
    async with Sandbox() as sandbox:
        key = sandbox.world.keys.anthropic_api_key
        async with anthropic.AsyncAnthropic(api_key=key, base_url=sandbox.url, max_retries=0, timeout=2) as client:
            yield Live(sandbox.world, client)


@pytest.fixture
def live(running: Live) -> Live:
    """The running stand-in as if it were new."""
    running.world.faults.clear()
    running.world.log.clear()
    running.world.model_script.clear()
    return running


# --- what it refuses --------------------------------------------------------------------------------------------------

TEXT = {"type": "text", "text": "x"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
OPEN_SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "object", "properties": {}}},
    "additionalProperties": False,
}
BOUNDED = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "additionalProperties": False}


def said(*contents: Any) -> list[Any]:
    return [{"role": ("user", "assistant")[n % 2], "content": content} for n, content in enumerate(contents)]


def form(schema: dict[str, Any]) -> dict[str, Any]:
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


REFUSED: dict[str, dict[str, Any]] = {
    "temperature": {"temperature": 1},
    "top_p": {"top_p": 0.99},
    "top_k": {"top_k": 5},
    "unknown key": {"seed": 7},
    "no max_tokens": {"max_tokens": None},
    "max_tokens too large": {"max_tokens": 200_000},
    "no messages": {"messages": []},
    "prefill": {"messages": said("hi", "Sure:")},
    "starts with the assistant": {"messages": [{"role": "assistant", "content": "hi"}, *HELLO]},
    "empty text block": {"messages": said([{"type": "text", "text": ""}])},
    "blank text block": {"messages": said([{"type": "text", "text": " \n"}])},
    "empty content in the middle": {"messages": said("hi", [], "again")},
    "empty assistant text in the history": {"messages": said("hi", "", "again")},
    "tool call without its result": {"messages": said("hi", [CALL], "go on")},
    "text before the tool result": {"messages": said("hi", [CALL], [TEXT, RESULT])},
    "result without a call": {"messages": said("hi", "ok", [RESULT])},
    "thinking from the user": {"messages": said([{"type": "thinking", "thinking": "", "signature": "s"}])},
    "document from the assistant": {"messages": said("hi", [{"type": "document"}], "ok")},
    "forced tool on Sonnet 5.5": {"model": SONNET, "tools": [TOOL], "tool_choice": FORCED},
    "any tool on Sonnet 5.5": {"model": SONNET, "tools": [TOOL], "tool_choice": {"type": "any"}},
    "forced tool on Opus 5.5": {"model": OPUS, "tools": [TOOL], "tool_choice": FORCED},
    "thinking off on Sonnet 5.5": {"model": SONNET, "thinking": {"type": "disabled"}},
    "thinking off at the highest effort": {"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}},
    "thinking budget on Haiku 5.5": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    "forced tool while an older model thinks": {
        "model": "claude-sonnet-4-6",
        "tools": [TOOL],
        "tool_choice": FORCED,
        "thinking": {"type": "adaptive"},
    },
    "effort on Haiku 4.5": {"model": OLD, "output_config": {"effort": "low"}},
    "an effort that is none": {"output_config": {"effort": "tiny"}},
    "open object in a strict tool": {"tools": [TOOL | {"input_schema": OPEN_SCHEMA}]},
    "open object in a format": form(OPEN_SCHEMA),
    "numeric bounds in a strict tool": {"tools": [TOOL | {"input_schema": BOUNDED}]},
    "numeric bounds in a format": form(BOUNDED),
    "choice of a tool that is not there": {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "other"}},
    "choice without tools": {"tool_choice": {"type": "auto"}},
    "two tools of one name": {"tools": [TOOL, TOOL]},
    "five cache breakpoints": {"system": [TEXT | {"cache_control": {"type": "ephemeral"}}] * 5},
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_service_rejects_is_rejected(case: str) -> None:
    """UN-10: every request that the real service answers with 400 is a 400 here."""
    body: dict[str, Any] = {"model": HAIKU, "max_tokens": 1000, "messages": HELLO} | REFUSED[case]
    body = {key: value for key, value in body.items() if value is not None}
    found = objection({"anthropic-version": VERSIONS[-1]}, body)
    assert found is not None and (found.status, found.type) == (400, "invalid_request_error")


ACCEPTED: dict[str, dict[str, Any]] = {
    "plain": {},
    "strict forced tool on Haiku 5.5": {"tools": [TOOL], "tool_choice": FORCED},
    "strict forced tool on Sonnet 5": {"model": "claude-sonnet-5", "tools": [TOOL], "tool_choice": FORCED},
    "auto tool on Sonnet 5.5": {"model": SONNET, "tools": [TOOL], "tool_choice": {"type": "auto"}},
    "format and effort on Sonnet 5.5": {
        "model": SONNET,
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": reading_schema()}},
    },
    "thinking off on Haiku 5.5": {"thinking": {"type": "disabled"}},
    "between tools on Sonnet 5.5": {"model": SONNET, "thinking": {"type": "between_tools"}},
    "thinking budget on Haiku 4.5": {
        "model": OLD,
        "max_tokens": 4000,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    },
    "tool result first, then text": {"messages": said("hi", [CALL], [RESULT, TEXT])},
    "cached system blocks": {"system": [TEXT | {"cache_control": {"type": "ephemeral"}}]},
    "open schema in a tool that is not strict": {"tools": [{"name": "f", "input_schema": OPEN_SCHEMA}]},
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_the_service_takes_is_taken(case: str) -> None:
    """UN-10: the forms that Clara may use are not refused by mistake."""
    body: dict[str, Any] = {"model": HAIKU, "max_tokens": 1000, "messages": HELLO} | ACCEPTED[case]
    assert objection({"anthropic-version": VERSIONS[-1]}, body) is None


@one_loop
async def test_refusals_have_the_shape_that_the_client_knows(live: Live) -> None:
    """EV-2: 400, 401 and 404 raise the client's own errors, with type and request id."""
    with pytest.raises(anthropic.BadRequestError, match="Extra inputs") as bad:
        await live.create(extra_body={"temperature": 0})
    assert bad.value.type == "invalid_request_error" and (bad.value.request_id or "").startswith("req_")
    with pytest.raises(anthropic.NotFoundError):
        await live.create(model="claude-nobody")
    with pytest.raises(anthropic.AuthenticationError):
        await live.client.with_options(api_key="wrong").messages.create(model=HAIKU, max_tokens=9, messages=HELLO)
    assert [entry.meta["status"] for entry in live.world.seen("anthropic")] == [400, 404, 401]


# --- what it answers --------------------------------------------------------------------------------------------------


@one_loop
async def test_a_forced_tool_comes_without_thinking(live: Live) -> None:
    """UN-1: the reply to a forced tool starts with the tool call."""
    answer = await live.create(messages=READ, tools=[TOOL], tool_choice=FORCED)
    assert ([block.type for block in answer.content], answer.stop_reason) == (["tool_use"], "tool_use")
    assert parse_reading(dict(answer.content[0].input))  # type: ignore[union-attr]


@one_loop
@pytest.mark.parametrize(
    ("given", "blocks"),
    [
        ({}, ["thinking", "text"]),
        ({"thinking": {"type": "disabled"}}, ["text"]),
        ({"model": OLD}, ["text"]),
        ({"tools": [TOOL], "tool_choice": {"type": "auto"}}, ["thinking", "text"]),
    ],
)
async def test_thinking_stands_first_unless_it_is_off(live: Live, given: dict[str, Any], blocks: list[str]) -> None:
    """UN-10: models that think by default put a thinking block first, so that reading by index fails in tests."""
    assert [block.type for block in (await live.create(**given)).content] == blocks


@one_loop
async def test_thinking_counts_in_the_token_budget(live: Live) -> None:
    """UN-10: a small budget gives thinking and no text, a middling one a text that is cut."""
    small, middling = await live.create(max_tokens=20), await live.create(max_tokens=70)
    assert [block.type for block in small.content] == ["thinking"] and small.stop_reason == "max_tokens"
    assert [block.type for block in middling.content] == ["thinking", "text"] and middling.stop_reason == "max_tokens"


@one_loop
async def test_a_stable_prefix_is_read_from_the_cache(live: Live) -> None:
    """EV-2: the second request with the same long, marked system prompt reads it from the cache."""
    system: Any = [{"type": "text", "text": "long " * 1000, "cache_control": {"type": "ephemeral"}}]
    first, second = await live.create(system=system), await live.create(system=system)
    assert first.usage.cache_creation_input_tokens and not first.usage.cache_read_input_tokens
    assert second.usage.cache_read_input_tokens == first.usage.cache_creation_input_tokens


@one_loop
async def test_every_answer_says_that_no_language_model_wrote_it(live: Live) -> None:
    """The sandbox model is labelled as such in every answer, and the log holds bytes, purpose and time."""
    raw = await live.client.messages.with_raw_response.create(model=HAIKU, max_tokens=500, messages=READ)
    assert raw.headers["x-sandbox-model"] == "rules, no language model"
    assert float(raw.headers["x-sandbox-service-ms"]) >= 0
    (entry,) = live.world.seen("anthropic", "messages")
    assert entry.meta["purpose"] == "reading" and json.loads(entry.body)["model"] == HAIKU
    assert json.loads(entry.answer)["id"] == (await raw.parse()).id and entry.ended >= entry.started


@one_loop
async def test_tokens_are_counted_and_models_are_listed(live: Live) -> None:
    """EV-2: count_tokens and models answer in the client's types; a retired model is listed and refused."""
    assert (await live.client.messages.count_tokens(model=HAIKU, messages=HELLO)).input_tokens > 0
    models = {info.id: info async for info in live.client.models.list()}
    assert models[HAIKU].lifecycle == "active" and models["claude-sonnet-4-5"].lifecycle == "retired"
    assert (await live.client.models.retrieve(HAIKU)).id == HAIKU
    found = objection(
        {"anthropic-version": VERSIONS[-1]}, {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": HELLO}
    )
    assert found is not None and found.status == 404


@one_loop
async def test_scripted_answers_come_verbatim_and_in_turn(live: Live) -> None:
    """EV-2: a script's entries answer the requests that they fit, once each, right or wrong."""
    live.world.model_script += [
        {"draft": "never asked for"},
        {"reading": {"wrong": True}},
        {"message": {"content": []}},
    ]
    first = await live.create(messages=READ, tools=[TOOL], tool_choice=FORCED)
    second = await live.create(messages=READ, tools=[TOOL], tool_choice=FORCED)
    third = await live.create(messages=READ, tools=[TOOL], tool_choice=FORCED)
    assert first.content[0].input == {"wrong": True}  # type: ignore[union-attr]
    assert (second.content, second.stop_reason) == ([], "end_turn")
    assert parse_reading(dict(third.content[0].input))  # type: ignore[union-attr]
    assert live.world.model_script == [{"draft": "never asked for"}]


# --- streams ----------------------------------------------------------------------------------------------------------


@one_loop
async def test_a_stream_says_what_the_whole_answer_says(live: Live) -> None:
    """EV-2: text and tool calls stream in the real framing, block by block."""
    async with live.stream(messages=READ, tools=[TOOL], tool_choice=FORCED) as stream:
        message = await stream.get_final_message()
    whole = await live.create(messages=READ, tools=[TOOL], tool_choice=FORCED)
    assert message.content[0].input == whole.content[0].input  # type: ignore[union-attr]
    async with live.stream() as stream:
        text = "".join([piece async for piece in stream.text_stream])
    assert text == (await live.create()).content[-1].text  # type: ignore[union-attr]


@one_loop
async def test_a_stream_without_its_end_raises_nothing(live: Live) -> None:
    """UN-10: as with the real service, a stream cut before message_stop looks like an answer without a stop reason."""
    live.world.faults.arm("anthropic.no_message_stop")
    async with live.stream() as stream:
        message = await stream.get_final_message()
    assert message.stop_reason is None and message.content


@one_loop
@pytest.mark.parametrize("at", ["first", "middle"])
async def test_an_error_inside_a_stream_has_status_200(live: Live, at: str) -> None:
    """UN-10: an overload inside a 200 stream is an error of status 200 and type overloaded_error."""
    live.world.faults.arm("anthropic.error_event", at=at)
    with pytest.raises(anthropic.APIStatusError) as error:
        async with live.stream() as stream:
            await stream.get_final_message()
    assert (error.value.status_code, error.value.type) == (200, "overloaded_error")


@one_loop
async def test_broken_streams_break_in_the_ways_that_are_known(live: Live) -> None:
    """UN-10: a reset, a stall, broken JSON and frames without event lines each show the client's own symptom."""
    live.world.faults.arm("anthropic.drop", at="middle")
    with pytest.raises(httpx2.HTTPError):
        async with live.stream() as stream:
            await stream.get_final_message()
    live.world.faults.arm("anthropic.stall")
    with pytest.raises(httpx2.ReadTimeout):
        async with live.stream(timeout=0.2) as stream:
            await stream.get_final_message()
    live.world.faults.arm("anthropic.broken_stream_json")
    with pytest.raises(ValueError, match="JSON"):
        async with live.stream(messages=READ, tools=[TOOL], tool_choice=FORCED) as stream:
            await stream.get_final_message()
    live.world.faults.arm("anthropic.no_event_lines")
    with pytest.raises(AssertionError):
        async with live.stream() as stream:
            await stream.get_final_message()


@one_loop
async def test_unknown_events_and_blocks_pass_through(live: Live) -> None:
    """UN-10: what the client does not know yet does not break a stream."""
    live.world.faults.arm("anthropic.unknown_block")
    async with live.stream() as stream:
        message = await stream.get_final_message()
    assert [block.type for block in message.content][-1] == "text" and message.stop_reason == "end_turn"


@one_loop
async def test_leaving_a_stream_early_ends_it_on_the_other_side(live: Live) -> None:
    """VO-3: a caller who speaks over a draft ends its generation."""
    live.world.faults.arm("anthropic.stall")
    async with live.stream() as stream:
        async for _ in stream:
            break
    for _ in range(100):
        if live.world.seen("anthropic", "messages"):
            break
        await asyncio.sleep(0.01)
    (entry,) = live.world.seen("anthropic", "messages")
    assert entry.ended - entry.started < 1.5
