"""Twilio's playback buffer as the phone models it: marks, clear, and what is played (VO-3)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scripts.sandbox.phone_media import BUFFER_BYTES, Playout

steps = st.lists(
    st.one_of(
        st.tuples(st.just("media"), st.integers(1, 700)), st.sampled_from([("mark", 0), ("play", 0), ("clear", 0)])
    )
)


@given(script=steps)
def test_a_mark_comes_back_once_in_order_and_not_before_its_audio(script: list[tuple[str, int]]) -> None:
    """Without `clear` a mark is echoed when exactly what came before it was played; with it, at the clear; never twice."""
    playout = Playout()
    appended = played = 0
    due: list[tuple[str, int]] = []  # mark and the byte behind which it stands
    echoed: list[str] = []
    count = 0
    for step, size in script:
        if step == "media":
            assert playout.media(b"\x80" * size)
            appended += size
            continue
        if step == "mark":
            count += 1
            due.append((f"m{count}", appended))
            names = playout.mark(f"m{count}")
        elif step == "play":
            piece, names = playout.play()
            assert len(piece) == min(160, appended - played)
            played += len(piece)
        else:
            names = playout.clear()
            played = appended
        ready = [name for name, at in due if at <= played]
        assert names == ready[len(echoed) :]
        echoed += names


def test_a_mark_on_an_empty_buffer_comes_back_at_once() -> None:
    """Nothing is left to play, so it has been played."""
    assert Playout().mark("m") == ["m"]


def test_clear_returns_every_pending_mark_and_drops_the_audio() -> None:
    """The echo looks as if the audio had been played."""
    playout = Playout()
    playout.media(b"\x80" * 320)
    assert playout.mark("one") == []
    playout.media(b"\x80" * 160)
    assert playout.mark("two") == []
    assert playout.clear() == ["one", "two"]
    assert playout.waiting_ms == 0
    assert playout.play() == (b"", [])
    assert playout.clear() == []


def test_ten_minutes_is_all_that_is_kept() -> None:
    """Audio beyond the buffer is lost."""
    playout = Playout()
    assert playout.media(b"\x80" * BUFFER_BYTES)
    assert not playout.media(b"\x80")
    playout.play()
    assert playout.media(b"\x80" * 160)
