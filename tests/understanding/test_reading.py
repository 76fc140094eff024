"""UN-1, UN-10: the shape of a reading."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.core.reading import Affirmation, Intent, ReadingError, Referent, Role, parse_reading, reading_schema

PLAIN: dict[str, Any] = {
    "language": "en",
    "intents": [{"kind": "request_tour", "span": "Can I see it"}],
    "mentions": [
        {
            "role": "visit",
            "kind": "datetime",
            "span": "tomorrow at 3 pm",
            "value": {"date": "2026-08-20", "time": "15:00"},
        },
        {"role": "move_in", "kind": "date", "span": "October 1", "occurrence": 2, "value": {}},
    ],
    "refers_to": {"kind": "tour", "id": "t1", "span": "my tour"},
    "affirmation": {"kind": "bare", "span": "Yes"},
}


def broken(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    whole = copy.deepcopy(PLAIN)
    at: Any = whole
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return whole


def test_a_well_formed_answer_becomes_a_reading() -> None:
    """A well-formed answer becomes a reading with every field and its span (UN-1)."""
    reading = parse_reading(PLAIN)
    assert reading.wants(Intent.REQUEST_TOUR) and not reading.wants(Intent.CANCEL_TOUR)
    assert [one.role for one in reading.mentions] == [Role.VISIT, Role.MOVE_IN]
    assert reading.mentions[0].value == {"date": "2026-08-20", "time": "15:00"}
    assert reading.mentions[1].span.occurrence == 2
    assert (reading.refers_to.kind, reading.refers_to.id) == (Referent.TOUR, "t1")
    assert reading.affirmation.kind is Affirmation.BARE


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("intents",), None),
        (("intents", 0), "request_tour"),
        (("intents", 0, "kind"), "book"),
        (("intents", 0, "span"), 3),
        (("intents", 0, "confidence"), 0.9),
        (("mentions", 0, "role"), "tour"),
        (("mentions", 0, "kind"), "instant"),
        (("mentions", 0, "value"), "2026-08-20"),
        (("mentions", 0, "value", "date"), 20260820),
        (("mentions", 0, "value", "weekday"), "thursday"),
        (("mentions", 0, "occurrence"), 0),
        (("mentions", 0, "occurrence"), True),
        (("mentions", 0, "occurrence"), "1"),
        (("refers_to",), "t1"),
        (("refers_to", "kind"), "booking"),
        (("refers_to", "id"), None),
        (("affirmation", "kind"), "yes"),
        (("language",), None),
        (("notes",), "book it"),
    ],
)
def test_any_other_shape_is_a_typed_failure(path: tuple[Any, ...], value: Any) -> None:
    """Any other shape is a typed failure with a sentence that names the place (UN-10)."""
    with pytest.raises(ReadingError) as failure:
        parse_reading(broken(path, value))
    assert str(path[0]) in str(failure.value) or "reading" in str(failure.value)


@pytest.mark.parametrize("key", ["language", "intents", "mentions", "refers_to", "affirmation"])
def test_a_missing_part_is_a_typed_failure(key: str) -> None:
    """A missing part is a typed failure, never a default (UN-10)."""
    with pytest.raises(ReadingError, match=key):
        parse_reading({name: value for name, value in PLAIN.items() if name != key})


def test_other_domains_add_objects_of_their_own() -> None:
    """Objects of registered domains are carried; those of unregistered ones are refused (DM-4)."""
    whole = PLAIN | {"maintenance": {"trouble": "leak"}}
    assert parse_reading(whole, domains=("maintenance",)).domains == {"maintenance": {"trouble": "leak"}}
    assert parse_reading(PLAIN, domains=("maintenance",)).domains == {}
    with pytest.raises(ReadingError, match="maintenance"):
        parse_reading(whole)


def test_the_schema_fits_a_strict_tool() -> None:
    """Every object of the schema is closed, and no keyword limits a size or a number (UN-1)."""

    def objects(node: Any) -> list[dict[str, Any]]:
        below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        here = [node] if isinstance(node, dict) and node.get("type") == "object" else []
        return here + [found for item in below for found in objects(item)]

    schema = reading_schema({"maintenance": {"type": "object", "properties": {}, "additionalProperties": False}})
    assert all(found["additionalProperties"] is False for found in objects(schema))
    words = str(schema)
    assert not any(word in words for word in ("minimum", "maximum", "minLength", "maxLength", "maxItems", "pattern"))
    assert "maintenance" in schema["properties"] and "maintenance" not in schema["required"]
    assert set(schema["required"]) == set(PLAIN)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*PLAIN, "kind", "span", "x"]), inner, max_size=5)
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from([*PLAIN, "x"]), JSON, max_size=6))
def test_no_answer_raises_anything_else(data: dict[str, Any]) -> None:
    """Whatever a model answers is a reading or a typed failure (UN-10)."""
    try:
        parse_reading(data)
    except ReadingError as failure:
        assert str(failure)
