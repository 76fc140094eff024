"""The one fault-control interface of all stand-ins: every misbehaviour has a name, a sentence, and is armed on purpose.

A stand-in registers its faults once, when its module is imported (`register`), and asks at the place where it could misbehave
(`take`). Tests, demo, simulator and chaos arm them by name. Nothing misbehaves unless it was armed.

Invariants:
* an unknown name is an error when it is armed and when it is taken: a fault that nobody implements cannot be "tested";
* the same seed and the same sequence of `arm` and `take` give the same outcomes;
* `fired` counts what really happened, so that a run can prove that its rare paths ran.

It never sleeps, logs or touches a socket: what a fault does is the stand-in's business.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

FAULTS: dict[str, str] = {}
"""Every fault that a loaded stand-in offers: name -> one sentence (parameters included)."""


class UnknownFault(ValueError):
    """Nobody registered a fault of that name."""


def register(name: str, doc: str) -> str:
    """Adds a fault to the list and returns its name. Registering another sentence under a taken name is an error."""
    if FAULTS.setdefault(name, doc) != doc:
        raise ValueError(f"fault {name!r} is already registered with another meaning")
    return name


@dataclass(frozen=True, slots=True)
class Fault:
    """One misbehaviour that is due now, with the parameters that it was armed with."""

    name: str
    params: Mapping[str, Any]

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter `key`, or `default`."""
        return self.params.get(key, default)


@dataclass(slots=True)
class Armed:
    """A waiting misbehaviour: lets `after` occasions pass, then fires on up to `times` (None: on all until cleared).

    With a `probability` each later occasion fires with that chance only; occasions that do not fire use nothing up.
    """

    name: str
    times: int | None
    after: int
    probability: float | None
    params: dict[str, Any] = field(default_factory=dict)


class Faults:
    """The faults of one world. Not thread-safe: all stand-ins of a world share one event loop."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._armed: list[Armed] = []
        self._watchers: dict[str, Callable[[bool], None]] = {}
        self.fired: Counter[str] = Counter()

    def arm(
        self, name: str, times: int | None = 1, after: int = 0, probability: float | None = None, **params: Any
    ) -> None:
        """Arms fault `name`: fires `times` times after `after` undisturbed occasions, each with `probability` (default: surely)."""
        self._check(name)
        self._armed.append(Armed(name, times, after, probability, params))
        if name in self._watchers:
            self._watchers[name](True)

    def take(self, name: str, **where: Any) -> Fault | None:
        """Asks whether fault `name` is due on this occasion, and uses it up if so.

        `where` describes the occasion (`phase="rcpt"`): a fault that was armed with another value of such a parameter waits on.
        """
        self._check(name)
        for armed in self._armed:
            if armed.name != name or any(armed.params.get(key, value) != value for key, value in where.items()):
                continue
            if armed.after > 0:
                armed.after -= 1
                continue
            if armed.probability is not None and self._random.random() >= armed.probability:
                continue
            if armed.times is not None:
                armed.times -= 1
                if armed.times <= 0:
                    self._armed.remove(armed)
            self.fired[name] += 1
            return Fault(name, dict(armed.params))
        return None

    def clear(self, name: str | None = None) -> None:
        """Disarms fault `name`, or all of them. What has fired stays counted."""
        if name is not None:
            self._check(name)
        self._armed = [armed for armed in self._armed if name is not None and armed.name != name]
        for watched, tell in self._watchers.items():
            if name in (None, watched):
                tell(False)

    def watch(self, name: str, tell: Callable[[bool], None]) -> None:
        """For faults that are a state, not an occasion (a closed port): `tell(True)` when armed, `tell(False)` when cleared."""
        self._check(name)
        self._watchers[name] = tell

    def armed(self) -> list[Armed]:
        """What still waits, in the order of arming."""
        return list(self._armed)

    @staticmethod
    def _check(name: str) -> None:
        if name not in FAULTS:
            raise UnknownFault(f"no stand-in offers a fault named {name!r}; known: {', '.join(sorted(FAULTS))}")
