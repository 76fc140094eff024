"""Nothing but the gate makes what the rail and the speaker accept (OG-1)."""

from __future__ import annotations

import ast
import copy
import pickle
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from pipeline.core.gate import Passed
from tests.gate.says import verdict

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("gateway", "pipeline", "voice", "text_channels", "storage", "scripts")
GATE = ROOT / "pipeline" / "core" / "gate"


@pytest.fixture
def passed() -> Passed:
    """A string that the gate let through."""
    found = verdict("Thanks for writing.").passed
    assert found is not None
    return found


def test_a_passed_string_says_what_it_passed_for(passed: Passed) -> None:
    """Text, digest, locale, channel, audience and purpose travel with it."""
    assert (passed.text, passed.locale, passed.channel) == ("Thanks for writing.", "en", "sms")
    assert (passed.audience, passed.purpose) == ("prospect", "answer")
    assert passed.digest == sha256(b"Thanks for writing.").hexdigest()


@pytest.mark.parametrize("seal", [None, object(), "seal", Passed])
def test_nobody_else_can_make_one(seal: object) -> None:
    """Without the gate's own seal there is no Passed."""
    with pytest.raises(TypeError):
        Passed(seal, text="hi", digest="", locale="en", channel="sms", audience="prospect", purpose="answer")


def test_it_cannot_be_changed(passed: Passed) -> None:
    """What passed is what leaves."""
    with pytest.raises(AttributeError):
        passed.text = "something else"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del passed.text


def test_it_cannot_leave_the_process(passed: Passed) -> None:
    """A stored message is gated again; a stored Passed would be a forgery kit."""
    with pytest.raises(TypeError):
        pickle.dumps(passed)


def test_a_copy_is_the_thing_itself(passed: Passed) -> None:
    """Copying makes no second one."""
    assert copy.copy(passed) is passed
    assert copy.deepcopy(passed) is passed


def test_it_has_no_subclasses() -> None:
    """A subclass would be another maker."""
    with pytest.raises(TypeError):
        type("Forged", (Passed,), {})


def test_a_refused_string_has_no_passed() -> None:
    """A refusal hands out nothing that could be sent."""
    assert verdict("The gate code is easy to guess.").passed is None


def _attempts(path: Path) -> Iterator[str]:
    """Everything in a source file that could be an attempt to make a Passed."""
    source = path.read_text("utf-8")
    for node in ast.walk(ast.parse(source if "Passed" in source or "_SEAL" in source else "")):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called.rpartition(".")[2] == "Passed":
                yield f"{path}:{node.lineno} calls Passed"
            if called in {"object.__new__", "cast", "typing.cast"} and any(
                "Passed" in ast.unparse(a) for a in node.args
            ):
                yield f"{path}:{node.lineno} conjures a Passed"
        if isinstance(node, ast.ImportFrom | ast.Import) and any(alias.name == "_SEAL" for alias in node.names):
            yield f"{path}:{node.lineno} takes the seal"
        if isinstance(node, ast.Attribute) and node.attr == "_SEAL":
            yield f"{path}:{node.lineno} takes the seal"
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("Passed") for base in node.bases):
            yield f"{path}:{node.lineno} subclasses Passed"


def test_no_source_outside_the_gate_tries_to() -> None:
    """The whole tree is read: nobody calls the constructor, takes the seal or conjures one."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if GATE not in path.parents]
    assert len(files) > 20
    assert [attempt for path in files for attempt in _attempts(path)] == []


def test_the_source_check_sees_an_attempt(tmp_path: Path) -> None:
    """The check above would fail if somebody tried."""
    forged = tmp_path / "forged.py"
    forged.write_text(
        "from pipeline.core.gate.passed import _SEAL, Passed\nPassed(_SEAL, text='x')\nobject.__new__(Passed)\n"
    )
    assert len(list(_attempts(forged))) == 3
