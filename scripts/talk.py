"""`clara text`, `clara mail`, `clara call`: be a customer of a running sandbox from the terminal.

They speak to the sandbox's control interface (CLARA_SANDBOX_URL, default http://127.0.0.1:8090) and show what comes back on the customer's side.
"""

from __future__ import annotations

import base64
import email
import email.policy
import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from pipeline.errors import SettingsError

PATIENCE = 30.0


def _control(method: str, path: str, body: Any = None) -> Any:
    base = os.environ.get("CLARA_SANDBOX_URL", "http://127.0.0.1:8090").rstrip("/")
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{base}/_control{path}", data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as problem:
        raise SettingsError(f"The sandbox at {base} refused: {problem.read().decode('utf-8', 'replace')}") from problem
    except OSError as problem:
        raise SettingsError(f"No sandbox answers at {base} ({problem}). Start one with `clara serve --sandbox`.") from problem


def _number(to: str | None) -> str:
    return to or str(_control("GET", "/")["numbers"][0])


def text(body: str, sender: str, to: str | None) -> int:
    """Sends one text and prints the answers."""
    before = len(_texts(sender))
    _control("POST", "/texts", {"sender": sender, "body": body, "to": _number(to)})
    found = _wait(lambda: _texts(sender)[before:])
    print("\n".join(found) if found else "(no answer)")
    return 0 if found else 1


def mail(path: str) -> int:
    """Posts a mail file and prints the answers to its sender."""
    try:
        raw = Path(path).read_bytes()
    except OSError as problem:
        raise SettingsError(f"Cannot read {path}: {problem.strerror}.") from problem
    before = len(_control("GET", "/mailbox"))
    _control("POST", "/mails", {"raw": base64.b64encode(raw).decode()})
    ours = "office"
    found = _wait(lambda: [m for m in _control("GET", "/mailbox")[before:] if not any(ours in r for r in m["recipients"])])
    for one in found:
        print(_shown(one["content"]))
    if not found:
        print("(no answer)")
    return 0 if found else 1


def call(locale: str, to: str | None, wav: str) -> int:
    """A call by typing: each line is spoken by the sandbox; an empty line hangs up."""
    print("Type what the caller says; the sandbox speaks for you. A line that begins with ! interrupts. An empty line hangs up.", file=sys.stderr)
    script: list[dict[str, Any]] = [{"wait_speaking": True}, {"wait_silent": 900}]
    number = _number(to)
    for line in sys.stdin:
        said = line.strip()
        if not said:
            break
        script += [{"interrupt": said[1:].strip(), "after_ms": 800}] if said.startswith("!") else [{"say": said}]
        script += [{"wait_speaking": True}, {"wait_silent": 900}]
    script.append({"hang_up": True})
    Path(wav).parent.mkdir(parents=True, exist_ok=True)
    order = {"from": "+13125550177", "to": number, "locale": locale, "wav": str(Path(wav).resolve()), "script": script, "follow": True}
    answer = _control("POST", "/calls", order)
    for heard in answer["heard"]:
        print(f"Clara: {heard['text']}" + ("" if heard["complete"] else " (cut off)"))
    if answer.get("error"):
        print(f"The call broke off: {answer['error']}", file=sys.stderr)
        return 1
    print(f"The call as a two-channel WAV: {wav}", file=sys.stderr)
    return 0


def _texts(number: str) -> list[str]:
    return [m["body"] for m in _control("GET", "/messages") if m["direction"] != "inbound" and m["recipient"] == number]


def _wait(look: Any) -> list[Any]:
    """What `look` finds, as soon as it finds anything."""
    ends = time.monotonic() + PATIENCE
    while not (found := look()) and time.monotonic() < ends:
        time.sleep(0.2)
    return list(found)


def _shown(content: str) -> str:
    message = email.message_from_bytes(base64.b64decode(content), policy=email.policy.default)
    body = message.get_body(("plain",))
    return f"Subject: {message['subject']}\n\n{body.get_content() if body else ''}"
