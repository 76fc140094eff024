"""What the source itself must show: one way out for every word, and no transaction that waits (EV-3, OG-1, VO-2, CK-1).

Each check takes a tree (path to syntax tree) and gives its violations, one line each: `path:line what`. They read syntax and run nothing; whoever adds a way out, a
network library or a waiting transaction has to name it here, in the table that allows it.

    the relay ── carrier.send ──> text_channels/{sms,smtp_out}.py      the bridge ── speaking.speak ──> voice/tts_elevenlabs.py
         ↑ stored bytes (Payload, made by `payload` alone)                  ↑ Passed, made by the gate alone
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)
Tree = Mapping[str, ast.Module]
Check = Callable[[Tree], list[str]]

FOLDERS = ("gateway", "pipeline", "voice", "text_channels", "storage")

RELAY, BRIDGE, BUILD, GATE = "pipeline/relay.py", "voice/bridge.py", "gateway/build.py", "pipeline/core/gate/"
COMPOSE, DOOR = "pipeline/compose.py", "storage/database.py"
SMS, SMTP, SPEAKER, LISTENER, MODEL = (
    "text_channels/sms.py", "text_channels/smtp_out.py", "voice/tts_elevenlabs.py", "voice/stt_elevenlabs.py", "gateway/anthropic_model.py",
)  # fmt: skip

# Whatever is called `send`, and what it sends. A carrier's is the relay's alone.
SENDS = {
    (RELAY, "carrier.send"): "stored bytes of an attempt",
    (BRIDGE, "self.socket.send"): "audio, marks and clears to the phone",
    (BRIDGE, "session.send"): "the caller's voice to the transcriber",
    (LISTENER, "self._socket.send"): "the same, on the wire",
}

# Which files may reach out of the process, by which library. A library that is not here may be used by nobody.
REACHES = {
    "twilio.rest": {SMS}, "twilio.http": {SMS}, "twilio.base": {SMS}, "twilio.twiml": {"gateway/media.py"}, "twilio": set(),
    "http.client": {SMS}, "ssl": {SMS, SMTP},
    "aiosmtplib": {SMTP}, "smtplib": set(), "sendgrid": set(),
    "elevenlabs": {SPEAKER}, "httpx": {SPEAKER}, "websockets": {LISTENER},
    "anthropic": {MODEL, BUILD}, "httpx2": {MODEL},
    "socket": {"gateway/serve.py"}, "uvicorn": {"gateway/serve.py"},
    "sqlalchemy.ext.asyncio": {DOOR}, "threading": {DOOR},
    "requests": set(), "urllib.request": set(), "urllib3": set(), "aiohttp": set(), "http.server": set(), "ftplib": set(), "telnetlib": set(),
    "xmlrpc": set(), "subprocess": set(), "multiprocessing": set(), "os.system": set(), "ctypes": set(), "redis": set(), "boto3": set(),
    "greenlet": set(), "sqlalchemy.util": set(),
}  # fmt: skip

# What providers' libraries call their ways out, and the one file of each.
WAYS_OUT = {
    "messages": {SMS}, "text_to_speech": {SPEAKER}, "protocol": {SMTP}, "sendmail": set(), "send_message": set(), "convert": set(), "say": set(), "play": set(),
    "text_to_dialogue": set(), "conversational_ai": set(), "await_only": set(), "greenlet_spawn": set(), "run_until_complete": set(),
}  # fmt: skip

# TwiML can speak and write by itself; no document of ours does.
TALKING_TWIML = ("<Say", "<Play", "<Message", "<Sms", "<Prompt")
TALKING_IMPORTS = ("MessagingResponse", "Say", "Play")

WAITING = (ast.Await, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Yield, ast.YieldFrom)
BARRED = ("asyncio", "anyio", "concurrent", "anthropic", "elevenlabs", "twilio", "aiosmtplib", "httpx", "http.client", "websockets", "socket", "ssl", "starlette")
OTHER_CLOCKS = {"datetime.now", "datetime.utcnow", "time.time", "time.monotonic", "time.sleep", "date.today", "asyncio.sleep", "asyncio.run"}


def read(root: Path) -> dict[str, ast.Module]:
    """The syntax of every source file under the project's folders."""
    files = (file for folder in FOLDERS for file in sorted((root / folder).rglob("*.py")))
    return {file.relative_to(root).as_posix(): ast.parse(file.read_text("utf-8")) for file in files}


# --- the rail ------------------------------------------------------------------------------------------------------------


def only_the_relay_sends(tree: Tree) -> list[str]:
    """Nothing but the relay touches a carrier's `send`, called or handed on, by name or by a string (SR-1, EV-3)."""
    return [
        f"{path}:{node.lineno} {ast.unparse(node)} is no known way of sending"
        for path, node in nodes(tree, ast.Attribute)
        if node.attr == "send" and (path, ast.unparse(node)) not in SENDS
    ] + [
        f"{path}:{node.lineno} reaches {node.value!r} by its name"
        for path, node in nodes(tree, ast.Constant)
        if node.value in ("send", "speak")
    ]


def only_the_build_knows_carriers(tree: Tree) -> list[str]:
    """Classes that can send or speak stand on their floor, and their modules are imported where they are wired and nowhere else (DESIGN 3)."""
    can = ({"send", "find"}, {"speak"})
    classes = {
        (path, node.name)
        for path, node in nodes(tree, ast.ClassDef)
        if not any(_named(base, "Protocol") for base in node.bases) and any(need <= _methods(node) for need in can)
    }
    at_home = {path for path, _ in classes if path.startswith(("voice/", "text_channels/"))}
    modules = {path.removesuffix(".py").replace("/", ".") for path in at_home}
    return [f"{path}:1 {name} can send or speak, and stands on no floor for that" for path, name in classes if path not in at_home] + [
        f"{path}:{at} imports {name}"
        for path, at, name in imports(tree)
        if path != BUILD and any(name == module or name.startswith(module + ".") for module in modules)
    ]


def only_adapters_reach_out(tree: Tree) -> list[str]:
    """Each library that reaches out of the process is used by its own adapter; unknown ones by nobody (EV-3)."""
    found = []
    for path, at, name in imports(tree):
        known = [library for library in REACHES if name == library or name.startswith(library + ".")]
        if known and path not in REACHES[max(known, key=len)]:
            found.append(f"{path}:{at} imports {name}")
    for path, node in nodes(tree, ast.Attribute):
        used = f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""
        if used in REACHES and path not in REACHES[used]:
            found.append(f"{path}:{node.lineno} uses {used}")
    return found


def providers_ways_out_stand_in_their_adapter(tree: Tree) -> list[str]:
    """A provider's own send, speak or wait is used in one file (OG-1, EV-3)."""
    return [
        f"{path}:{node.lineno} uses {ast.unparse(node)}"
        for path, node in nodes(tree, ast.Attribute)
        if node.attr in WAYS_OUT and path not in WAYS_OUT[node.attr]
    ] + [
        f"{path}:{at} imports {name}"
        for path, at, name in imports(tree)
        if name.startswith("sqlalchemy.") and path not in WAYS_OUT.get(name.rpartition(".")[2], {path})
    ]


def no_document_talks(tree: Tree) -> list[str]:
    """No TwiML of ours has words in it: they would leave past the gate (OG-1)."""
    return [
        f"{path}:{node.lineno} writes {verb}"
        for path, node in nodes(tree, ast.Constant)
        if isinstance(node.value, str)
        for verb in TALKING_TWIML
        if verb.lower() in node.value.lower()
    ] + [
        f"{path}:{at} imports {name}"
        for path, at, name in imports(tree)
        if name.startswith("twilio.") and name.rpartition(".")[2] in TALKING_IMPORTS
    ]


# --- the speaker and the gate --------------------------------------------------------------------------------------------


def only_the_bridge_speaks(tree: Tree) -> list[str]:
    """`speak` is called by the bridge alone, and every speaker takes a `Passed` (VO-2)."""
    return [
        f"{path}:{node.lineno} speaks: {ast.unparse(node)}"
        for path, node in nodes(tree, ast.Attribute)
        if node.attr == "speak" and (path, ast.unparse(node)) != (BRIDGE, "self.speaking.speak")
    ] + [
        f"{path}:{node.lineno} speaks something else than a Passed"
        for path, node in functions(tree)
        if node.name == "speak" and _takes(node) != ["Passed"]
    ]


def only_the_gate_passes(tree: Tree) -> list[str]:
    """A `Passed` is made in the gate's one entry point, and its seal is the gate's own (OG-1)."""
    seal = [
        *((path, at) for path, at, name in imports(tree) if name.endswith("._SEAL") or name.startswith("pipeline.core.gate.passed")),
        *((path, node.lineno) for path, node in nodes(tree, ast.Attribute) if node.attr == "_SEAL"),
    ]
    return [
        *(
            f"{path}:{node.lineno} makes a Passed"
            for path, node in nodes(tree, ast.Call)
            if _named(node.func, "Passed") and path != GATE + "__init__.py"
        ),
        *(f"{path}:{node.lineno} makes something past its own making" for path, node in nodes(tree, ast.Attribute) if node.attr == "__new__"),
        *(f"{path}:{at} takes the gate's seal" for path, at in seal if not path.startswith(GATE)),
    ]


def only_what_passed_is_stored(tree: Tree) -> list[str]:
    """Bytes to be sent are made by `payload` from a `Passed`; whatever wraps takes a `Passed` (OG-1, IN-7)."""
    home = {id(inner) for path, node in functions(tree) if (path, node.name) == (COMPOSE, "payload") for inner in ast.walk(node)}
    return [
        f"{path}:{node.lineno} makes a Payload"
        for path, node in nodes(tree, ast.Call)
        if _named(node.func, "Payload") and id(node) not in home
    ] + [
        f"{path}:{node.lineno} {node.name} takes no Passed"
        for path, node in functions(tree)
        if node.name in ("payload", "wrap", "_wrap") and "Passed" not in _takes(node)
    ]


# --- transactions --------------------------------------------------------------------------------------------------------


def transactions_do_not_wait(tree: Tree) -> list[str]:
    """Functions that take a `Tx`, and all of storage but its one door, neither await nor read another clock (CK-1, DESIGN 2)."""
    found = []
    for path, scope in _transactional(tree):
        for node in ast.walk(scope):
            if isinstance(node, WAITING) and not (isinstance(scope, ast.Module) and isinstance(node, ast.Yield | ast.YieldFrom)):
                found.append(f"{path}:{node.lineno} {type(node).__name__} in a transaction")
            if isinstance(node, ast.Attribute) and path != DOOR and ast.unparse(node) in OTHER_CLOCKS:
                found.append(f"{path}:{node.lineno} {ast.unparse(node)} in a transaction")
    return found


def storage_reaches_nothing(tree: Tree) -> list[str]:
    """Storage imports no SDK, no socket and no loop, its one door excepted; nor does the inside of any function that takes a `Tx` (CK-1)."""
    return [
        f"{path}:{line(node)} imports {name}"
        for path, scope in _transactional(tree)
        for node in ast.walk(scope)
        for name in _imported(node)
        if any(name == one or name.startswith(one + ".") for one in BARRED)
    ]


def _transactional(tree: Tree) -> Iterator[tuple[str, ast.AST]]:
    """All of storage but its door, and every function anywhere that takes a `Tx`; the door's own too."""
    for path, module in tree.items():
        if path.startswith("storage/") and path != DOOR:
            yield path, module
    for path, node in functions(tree):
        if "Tx" in _takes(node):
            yield path, node


CHECKS: tuple[Check, ...] = (
    only_the_relay_sends,
    only_the_build_knows_carriers,
    only_adapters_reach_out,
    providers_ways_out_stand_in_their_adapter,
    no_document_talks,
    only_the_bridge_speaks,
    only_the_gate_passes,
    only_what_passed_is_stored,
    transactions_do_not_wait,
    storage_reaches_nothing,
)


# --- reading syntax ------------------------------------------------------------------------------------------------------


@cache
def _by_type(module: ast.Module) -> dict[type[ast.AST], list[ast.AST]]:
    found: dict[type[ast.AST], list[ast.AST]] = {}
    for node in ast.walk(module):
        found.setdefault(type(node), []).append(node)
    return found


def nodes(tree: Tree, kind: type[Node]) -> Iterator[tuple[str, Node]]:
    """All nodes of one type, with their file."""
    for path, module in tree.items():
        for node in _by_type(module).get(kind, ()):
            yield path, node  # type: ignore[misc]  # listed under its own type


def functions(tree: Tree) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    yield from nodes(tree, ast.FunctionDef)
    yield from nodes(tree, ast.AsyncFunctionDef)


def imports(tree: Tree) -> Iterator[tuple[str, int, str]]:
    """File, line and dotted name of everything that is imported."""
    for kind in (ast.Import, ast.ImportFrom, ast.Call):
        for path, node in nodes(tree, kind):
            for name in _imported(node):
                yield path, line(node), name


def line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _imported(node: ast.AST) -> list[str]:
    """The dotted names that an import brings in, the module of a `from` included; strings given to `import_module` too."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    if isinstance(node, ast.Call) and (_named(node.func, "import_module") or _named(node.func, "__import__")):
        return [str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)]
    return []


def _takes(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The last names of the parameters' annotations, `self` apart."""
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [ast.unparse(arg.annotation).rpartition(".")[2].strip("'\"") if arg.annotation else "" for arg in given if arg.arg not in ("self", "cls")]


def _named(node: ast.expr, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)


def _methods(node: ast.ClassDef) -> set[str]:
    return {item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}

