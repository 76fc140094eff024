"""Twilio's stand-in is as strict as the real one, and the official SDK gets along with it (EV-2, TX-1, SR-4)."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.responses import Response
from twilio.base.exceptions import TwilioRestException  # type: ignore[import-untyped]  # the SDK ships no types
from twilio.rest import Client  # type: ignore[import-untyped]  # the SDK ships no types

from scripts.sandbox import smtp, twilio_rest
from scripts.sandbox.faults import FAULTS
from scripts.sandbox.twilio_rest import store
from scripts.sandbox.wire import Answer, request
from scripts.sandbox.world import CallOver, NoSuchCall
from tests.sandbox.rig import Rig, rig

CUSTOMER = "+15125550142"
GOOD = {"To": CUSTOMER, "From": "+15125550100", "Body": "hola"}


async def call(
    at: Rig, method: str, path: str, fields: Mapping[str, str] | None = None, *, token: str | None = None
) -> Answer:
    """A raw request on the account's resource."""
    keys = at.world.keys
    basic = base64.b64encode(f"{keys.twilio_account_sid}:{token or keys.twilio_auth_token}".encode()).decode()
    headers = [("authorization", f"Basic {basic}"), ("content-type", "application/x-www-form-urlencoded")]
    url = f"{at.sandbox.url}/2010-04-01/Accounts/{keys.twilio_account_sid}/{path}"
    return await request(method, url, headers, urlencode(fields or {}).encode())


def client(at: Rig) -> Any:
    """The official SDK as it comes, pointed at the stand-in."""
    keys = at.world.keys
    sdk = Client(keys.twilio_account_sid, keys.twilio_auth_token)
    sdk.api.base_url = at.sandbox.url
    return sdk


@pytest.mark.asyncio
async def test_a_create_answers_201_with_the_documented_resource() -> None:
    """Counts are strings, dates are RFC 2822, the status is `queued`."""
    async with rig() as at:
        answer = await call(at, "POST", "Messages.json", GOOD)
        value = json.loads(answer.body)
        assert answer.status == 201
        assert (value["status"], value["direction"], value["num_segments"], value["num_media"]) == (
            "queued",
            "outbound-api",
            "1",
            "0",
        )
        assert re.fullmatch(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000", value["date_created"])
        assert (value["date_sent"], value["error_code"], value["price"]) == (None, None, None)
        assert re.fullmatch(r"SM[0-9a-f]{32}", value["sid"])


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"To": ""}, 21604),
        ({"From": ""}, 21603),
        ({"Body": ""}, 21602),
        ({"To": "5125550142"}, 21211),
        ({"From": "clara"}, 21212),
        ({"From": "+15125550199"}, 21606),
        ({"Body": "x" * 1601}, 21617),
        ({"StatusCallback": "clara.example/cb"}, 21609),
        ({"StatusCallback": "https://my_host.example/cb"}, 21609),
        ({"ValidityPeriod": "36001"}, 20001),
    ],
)
async def test_a_bad_create_is_refused_with_the_documented_error_body(changes: dict[str, str], code: int) -> None:
    """400 with `code`, `message`, `more_info`, `status`; nothing is stored."""
    async with rig() as at:
        answer = await call(at, "POST", "Messages.json", {**GOOD, **changes})
        value = json.loads(answer.body)
        assert (answer.status, value["code"], value["status"]) == (400, code, 400)
        assert value["more_info"] == f"https://www.twilio.com/docs/errors/{code}"
        assert not at.world.messages


@pytest.mark.asyncio
async def test_without_the_accounts_credentials_nothing_happens() -> None:
    """A wrong token is 401 with 20003, another account 404 with 20404."""
    async with rig() as at:
        wrong = await call(at, "POST", "Messages.json", GOOD, token="wrong")
        assert (wrong.status, json.loads(wrong.body)["code"]) == (401, 20003)
        foreign_messages = client(at).api.accounts("AC" + "0" * 32).messages
        with pytest.raises(TwilioRestException) as foreign:
            await asyncio.to_thread(foreign_messages.create, to=CUSTOMER, from_="+15125550100", body="x")
        assert foreign.value.code == 20404
        assert not at.world.messages


@pytest.mark.asyncio
async def test_a_body_that_is_not_a_form_is_refused() -> None:
    """JSON on a form resource is 415."""
    async with rig() as at:
        keys = at.world.keys
        basic = base64.b64encode(f"{keys.twilio_account_sid}:{keys.twilio_auth_token}".encode()).decode()
        url = f"{at.sandbox.url}/2010-04-01/Accounts/{keys.twilio_account_sid}/Messages.json"
        headers = [("authorization", f"Basic {basic}"), ("content-type", "application/json")]
        assert (await request("POST", url, headers, b"{}")).status == 415


@pytest.mark.asyncio
async def test_the_official_sdk_creates_fetches_lists_redacts_and_deletes() -> None:
    """The untouched SDK works against the stand-in, through all pages."""
    async with rig() as at:
        sdk = client(at)

        def work() -> tuple[Any, ...]:
            sids = [sdk.messages.create(to=CUSTOMER, from_=GOOD["From"], body=f"n {n}").sid for n in range(5)]
            listed = [row.sid for row in sdk.messages.list(to=CUSTOMER, page_size=2)]
            redacted = sdk.messages(sids[0]).update(body="").body
            sdk.messages(sids[1]).delete()
            return sids, listed, redacted, sdk.messages(sids[2]).fetch().body

        sids, listed, redacted, fetched = await asyncio.to_thread(work)
        assert listed == sids[::-1]
        assert (redacted, fetched) == ("", "n 2")
        assert sids[1] not in at.world.messages


@pytest.mark.asyncio
async def test_lists_are_filtered_by_numbers_and_day_and_leave_out_what_was_not_sent() -> None:
    """DateSent has the precision of a day; a message without one fails any DateSent filter."""
    async with rig() as at:
        world, ours = at.world, GOOD["From"]
        queued = store(world, "outbound-api", ours, CUSTOMER, "queued", "queued")
        sent = store(world, "outbound-api", ours, CUSTOMER, "sent", "sent")
        sent.sent = world.clock.now()
        other = store(world, "outbound-api", ours, "+15125550143", "other", "sent")

        async def sids(query: Mapping[str, str]) -> list[str]:
            answer = await call(at, "GET", f"Messages.json?{urlencode(query)}")
            return [row["sid"] for row in json.loads(answer.body)["messages"]]

        today = world.clock.now().date().isoformat()
        assert await sids({}) == [other.sid, sent.sid, queued.sid]
        assert await sids({"To": CUSTOMER}) == [sent.sid, queued.sid]
        assert await sids({"To": CUSTOMER, "DateSent>": today}) == [sent.sid]
        assert await sids({"DateSent>": f"{today}T23:59:59Z"}) == [sent.sid]
        assert await sids({"DateSent<": "2020-01-01"}) == []


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("fault", "params", "statuses"),
    [
        ("twilio.callback.lost", {}, []),
        ("twilio.callback.lost", {"statuses": ["delivered"]}, ["queued", "sent"]),
        ("twilio.callback.duplicated", {"copies": 3}, ["queued"] * 3 + ["sent"] * 3 + ["delivered"] * 3),
        ("twilio.callback.reordered", {}, ["delivered", "sent", "queued"]),
        ("twilio.callback.late", {"seconds": 0.05}, ["queued", "sent", "delivered"]),
        ("twilio.message.undelivered", {"code": 30005}, ["queued", "sent", "undelivered"]),
        ("twilio.message.undelivered", {"status": "failed", "code": 21610}, ["queued", "failed"]),
    ],
)
async def test_callbacks_come_as_the_armed_fault_wants_them(
    fault: str, params: dict[str, Any], statuses: list[str]
) -> None:
    """Lost, repeated, in the wrong order, late, undelivered; the resource tells the truth all the same (SR-4)."""
    async with rig() as at:
        at.world.faults.arm(fault, **params)
        await call(at, "POST", "Messages.json", {**GOOD, "StatusCallback": f"{at.world.public_url}/cb?ref=1"})
        await at.world.settle()
        assert at.door.statuses == statuses
        (message,) = at.world.messages.values()
        assert message.status == (statuses[-1] if "undelivered" in fault else "delivered")


@pytest.mark.asyncio
async def test_callbacks_can_overtake_the_answer_to_create() -> None:
    """The callback of a message may arrive before its sender knows the message's id (SR-4)."""
    async with rig() as at:
        at.world.faults.arm("twilio.callback.early")
        await call(at, "POST", "Messages.json", {**GOOD, "StatusCallback": f"{at.world.public_url}/cb"})
        assert at.door.statuses == ["queued", "sent", "delivered"]


@pytest.mark.asyncio
async def test_a_callback_is_tried_again_as_its_fragment_says_and_only_then() -> None:
    """By default a 503 is not tried again; `#rc=2&rp=5xx` does, and the fragment is neither sent nor signed."""
    async with rig() as at:
        for fragment, tries in (("", 3), ("#rc=2&rp=ct,5xx", 5)):
            at.door.knocks.clear()
            at.door.replies = [Response(status_code=503), Response(status_code=503)]
            callback = f"{at.world.public_url}/cb{fragment}"
            await call(at, "POST", "Messages.json", {**GOOD, "StatusCallback": callback})
            await at.world.settle()
            assert len(at.door.knocks) == tries
            assert {knock.raw_path for knock in at.door.knocks} == {b"/cb"}
            tokens = [knock.headers["i-twilio-idempotency-token"] for knock in at.door.knocks]
            assert len(set(tokens)) == 3


@pytest.mark.asyncio
async def test_a_stand_in_calls_nobody_outside_this_machine() -> None:
    """A callback to a strange address is not made."""
    async with rig() as at:
        await call(at, "POST", "Messages.json", {**GOOD, "StatusCallback": "https://elsewhere.example/cb"})
        await at.world.settle()
        assert not at.door.knocks


@pytest.mark.asyncio
async def test_a_landline_ends_undelivered_and_advanced_opt_out_fails_later() -> None:
    """Both are accepted at first: the refusal comes by callback."""
    async with rig(opt_out="advanced") as at:
        at.world.landlines.add("+15125550143")
        at.world.opted_out.add((GOOD["From"], CUSTOMER))
        for number in ("+15125550143", CUSTOMER):
            answer = await call(at, "POST", "Messages.json", {**GOOD, "To": number})
            assert answer.status == 201
        await at.world.settle()
        ends = [(message.status, message.error_code) for message in at.world.messages.values()]
        assert ends == [("undelivered", 30006), ("failed", 21610)]


@pytest.mark.asyncio
async def test_every_exchange_stands_in_the_log_with_monotonic_stamps() -> None:
    """Checkers and benchmarks read bytes and times, not flags of ours (EV-2)."""
    async with rig() as at:
        answer = await call(at, "POST", "Messages.json", GOOD)
        (seen,) = at.world.seen("twilio", "message.create")
        assert (seen.body, seen.answer) == (urlencode(GOOD).encode(), answer.body)
        assert 0 <= seen.ended - seen.started <= answer.seconds
        assert 0 <= float(answer.header("x-sandbox-service-ms") or "-1") <= answer.seconds * 1000


# --- calls -----------------------------------------------------------------------------------------------------------------------


class Phone:
    """A call that the phone stand-in would keep."""

    def __init__(self) -> None:
        self.orders: list[tuple[str, dict[str, str]]] = []
        self.error: Exception | None = None

    def resource(self) -> dict[str, Any]:
        return {"status": "in-progress", "from": CUSTOMER, "to": "+15125550100", "direction": "inbound"}

    async def control(self, sid: str, form: Mapping[str, str]) -> None:
        if self.error:
            raise self.error
        self.orders.append((sid, dict(form)))


@pytest.mark.asyncio
async def test_a_call_update_is_handed_to_the_phone() -> None:
    """Hang up and new TwiML reach the phone stand-in, by the official SDK."""
    async with rig() as at:
        phone = Phone()
        at.world.calls["CA1"] = phone
        at.world.call_control = phone.control
        sdk = client(at)
        twiml = '<Response><Dial action="https://clara.example/after"><Number>+15125550199</Number></Dial></Response>'
        await asyncio.to_thread(sdk.calls("CA1").update, status="completed")
        await asyncio.to_thread(sdk.calls("CA1").update, twiml=twiml)
        assert phone.orders == [("CA1", {"Status": "completed"}), ("CA1", {"Twiml": twiml})]
        assert (await asyncio.to_thread(sdk.calls("CA1").fetch)).status == "in-progress"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, 20001),
        ({"Status": "busy"}, 20001),
        ({"Twiml": "<Response/>", "Url": "https://clara.example/x"}, 20001),
        ({"Url": "/relative"}, 21205),
        ({"Twiml": "<Response>"}, 12100),
        ({"Twiml": "<Say/>"}, 12102),
        ({"Twiml": '<Response><Dial action="/after"/></Response>'}, 15004),
    ],
)
async def test_a_bad_call_update_is_refused_and_reaches_no_phone(fields: dict[str, str], code: int) -> None:
    """All addresses in new TwiML are absolute; Status, Url and Twiml are checked."""
    async with rig() as at:
        phone = Phone()
        at.world.calls["CA1"] = phone
        at.world.call_control = phone.control
        answer = await call(at, "POST", "Calls/CA1.json", fields)
        assert (answer.status, json.loads(answer.body)["code"]) == (400, code)
        assert not phone.orders


@pytest.mark.asyncio
@pytest.mark.parametrize(("error", "status", "code"), [(CallOver(), 400, 21220), (NoSuchCall(), 404, 20404)])
async def test_an_update_of_a_finished_call_is_refused(error: Exception, status: int, code: int) -> None:
    """A caller who was faster: 21220 or 20404, whichever the phone says."""
    async with rig() as at:
        phone = Phone()
        phone.error = error
        at.world.calls["CA1"] = phone
        at.world.call_control = phone.control
        answer = await call(at, "POST", "Calls/CA1.json", {"Status": "completed"})
        assert (answer.status, json.loads(answer.body)["code"]) == (status, code)
        assert (await call(at, "POST", "Calls/CA2.json", {"Status": "completed"})).status == 404


def test_every_fault_of_text_and_mail_is_exercised_somewhere() -> None:
    """A fault that no test arms is a rare path that nobody has proved to run (EV-2)."""
    tests = "".join(path.read_text() for path in Path(__file__).parents[1].glob("*/test_*.py"))
    stored = ("503_stored", "503_lost", "stall_stored", "stall_lost", "reset_stored", "reset_lost", "garbled")
    named = {f"twilio.message.{name}" for name in stored if f'"{name}"' in tests}
    ours = {
        name
        for module in (twilio_rest, smtp)
        for name in vars(module).values()
        if isinstance(name, str) and name in FAULTS
    }
    assert sorted(name for name in ours - named if f'"{name}"' not in tests) == []


@pytest.mark.asyncio
async def test_an_update_while_the_provider_is_down_changes_nothing() -> None:
    """503 on a call update: the call goes on as it was."""
    async with rig() as at:
        phone = Phone()
        at.world.calls["CA1"] = phone
        at.world.call_control = phone.control
        at.world.faults.arm("twilio.call.503")
        assert (await call(at, "POST", "Calls/CA1.json", {"Status": "completed"})).status == 503
        assert not phone.orders
