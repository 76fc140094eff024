"""What a draft is made of (CO-2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.segments import Fact, Prose, Segment, dump, load, spans_of, text_of

SEGMENTS = st.lists(
    st.builds(Prose, st.text())
    | st.builds(
        Fact, st.text(), st.text(), st.text(), st.text(), st.integers(0, 9), st.text(), st.sampled_from(("en", "es"))
    ),
    max_size=6,
).map(tuple)


@given(SEGMENTS)
def test_the_text_is_the_plain_concatenation(segments: tuple[Segment, ...]) -> None:
    """Nothing is added between segments and nothing is trimmed."""
    assert text_of(segments) == "".join(segment.text for segment in segments)


@given(SEGMENTS)
def test_spans_say_where_the_facts_stand(segments: tuple[Segment, ...]) -> None:
    """A span's slice of the text is its fact."""
    text = text_of(segments)
    facts = [segment for segment in segments if isinstance(segment, Fact)]
    assert [(text[start:end], kind) for start, end, kind in spans_of(segments)] == [(f.text, f.kind) for f in facts]


@given(SEGMENTS)
def test_stored_segments_come_back_as_they_were(segments: tuple[Segment, ...]) -> None:
    """A message is gated again from what was stored with it."""
    assert load(dump(segments)) == segments


@pytest.mark.parametrize("stored", [{}, {"text": "hi", "kind": "date"}, {"text": "hi", "note": "x"}])
def test_anything_else_is_no_segment(stored: dict[str, str]) -> None:
    """A half-stored fact does not become prose."""
    with pytest.raises(ValueError, match="not a stored segment"):
        load([stored])
