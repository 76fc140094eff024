"""`Passed`: the one type that the rail and the speaker accept, and that only the gate can make."""

from __future__ import annotations

from typing import Final, NoReturn

_SEAL: Final = object()


class Passed:
    """A string that passed the gate, with what it passed for. Immutable; cannot be copied into another, pickled or subclassed."""

    __slots__ = ("audience", "channel", "digest", "locale", "purpose", "text")

    text: str
    digest: str
    locale: str
    channel: str
    audience: str
    purpose: str

    def __init__(
        self, seal: object, *, text: str, digest: str, locale: str, channel: str, audience: str, purpose: str
    ) -> None:
        if seal is not _SEAL:
            raise TypeError("only the output gate makes a Passed")
        values = (("text", text), ("digest", digest), ("locale", locale), ("channel", channel), ("audience", audience))
        for name, value in (*values, ("purpose", purpose)):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Passed cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Passed cannot be changed")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("a Passed has no other forms")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Passed does not leave the process; gate the stored segments again")

    def __copy__(self) -> Passed:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Passed:
        return self

    def __repr__(self) -> str:
        return f"Passed({self.channel}, {self.audience}, {self.purpose}, sha256 {self.digest[:12]}…)"
