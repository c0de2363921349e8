"""How many devices can converse at the same time, by what a conversation costs on this machine.

Two costs are known: of a second of listening to a device, and of a turn. They begin with those of
the reference machine of docs/performance.md, times the measured speed of a core, and follow what
the process is seen to use. All are parts of what the process may use: 1 is all of it, for a second.

Ridge regression with forgetting: the costs that explain the last minutes best, drawn towards those
of the calibration as long as little has been seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

LISTENING: Final = 0.0021
"""Seconds of a core for a second of listening to one device, on the reference machine: between the
0.0018 and the 0.0028 that 200 took, alone and beside turns (docs/performance.md)."""

TURN: Final = 0.012
"""Seconds of a core for a turn over HTTP with an answer of 3 s, beside listening, there."""

CONNECT: Final = 0.005
"""Seconds of a core for a device that connects, there, with what it is asked for behind its hello.
It is not what it costs to talk with it."""

STORM: Final = 0.2
"""Where connects take more than this part of what is used, that teaches nothing: all devices of a
town come back after a power cut, and are let in by what is known."""

LOOP_SHARE: Final = 0.6
"""Of these, what the thread of the event loop does. It is one, however many cores there are."""

TURN_EVERY_S: Final = 10.0
"""A device in conversation has a turn so often (docs/performance.md, ``--turn-every``)."""

LISTENED: Final = 0.7
"""Of this time, what the server listens: the rest of it the device plays the answer."""

FULL: Final = 0.85
"""The part of the process's time up to which devices are admitted. Above it queues grow: with 0.74
of a core 95 % of turns begin within 0.2 s, beyond 0.9 within seconds."""

LEAST: Final = 20
"""Devices that are admitted whatever they cost. So few say little about what more would cost, since
a core that sleeps most of the time works several times slower."""

WORTH: Final = 0.1
"""A time in which less than this part was used teaches nothing, for the same reason."""

MEMORY_S: Final = 60.0
"""After so many seconds of what was learned a third counts."""

_NOISE: Final = 0.1
"""Of a second, by which what is used differs by chance: turns begin in one look and end in another,
and other programs come and go. The same for all looks: in parts of what is used, one calm moment
would outweigh the busy ones around it."""

_DOUBT: Final = 2.0
"""How wrong the calibrated costs may be, in parts of them: models on this machine are not in them,
and other programs may take half of a core. So a hundred devices outweigh them within a second."""

_ALIKE: Final = 0.8
"""Correlation of these errors: where listening costs more than believed, turns do too, since the
machine is slower, or shared."""

_BOUNDS: Final = (0.2, 100.0)
"""Of a cost, in calibrated ones: local models can cost a hundred times as much."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Of a second of listening to a device, and of a turn, in parts of the process's second."""

    listening: float
    turn: float

    @property
    def conversing(self) -> float:
        """What a device in conversation uses in a second."""
        return LISTENED * self.listening + self.turn / TURN_EVERY_S


class CostModel:
    """What listening and turns cost: :meth:`calibrate` once, :meth:`learn` every few seconds."""

    def __init__(self) -> None:
        self._listening = self._turn = 1.0
        self._prior = Costs(1.0, 1.0)
        self._connect = 0.0
        self.calibrate(1.0, 1.0)

    def calibrate(self, slowness: float, cores: float) -> None:
        """Take the speed of a core, in times of the reference, and how many the process may use.

        What was learned is forgotten.
        """
        part = max(LOOP_SHARE, 1.0 / cores) * slowness
        self._prior = Costs(LISTENING * part, TURN * part)
        self._connect = CONNECT * part
        self._listening = self._turn = 1.0  # in calibrated costs
        self._sums = [0.0] * 5

    def learn(
        self, seconds: float, listened: float, turns: int, connects: int, used: float
    ) -> None:
        """Take what was ``used`` in the last ``seconds``: parts of a second, 1 is all of one.

        ``listened``: seconds of listening, of all devices together; ``turns`` have begun, and
        ``connects`` devices connected.
        """
        connecting = connects * self._connect * self._listening
        if connecting > STORM * used:
            return
        used -= connecting
        if not seconds or used < WORTH * seconds or not (listened or turns):
            return
        weight = (_NOISE * seconds) ** -2
        x, y = listened * self._prior.listening, turns * self._prior.turn
        kept = math.exp(-seconds / MEMORY_S)
        news = (x * x, x * y, y * y, x * used, y * used)
        self._sums = [old * kept + weight * new for old, new in zip(self._sums, news, strict=True)]
        xx, xy, yy, xu, yu = self._sums
        # The inverse of the covariance of the calibrated costs, and that times their mean (1, 1).
        trust = 1 / (_DOUBT**2 * (1 - _ALIKE**2))
        a, b, c = xx + trust, xy - _ALIKE * trust, yy + trust
        d, e = xu + (1 - _ALIKE) * trust, yu + (1 - _ALIKE) * trust
        determinant = a * c - b * b  # positive: the sum of two positive definite forms
        low, high = _BOUNDS
        self._listening = min(high, max(low, (d * c - b * e) / determinant))
        self._turn = min(high, max(low, (a * e - b * d) / determinant))

    def devices(self, conversing: float = 1.0) -> int:
        """Return how many devices may be connected if this share of them converses."""
        return max(LEAST, int(FULL / (conversing * self.costs.conversing)))

    @property
    def costs(self) -> Costs:
        """What is believed now."""
        prior = self._prior
        return Costs(self._listening * prior.listening, self._turn * prior.turn)


class Capacity:
    """How many devices this process may have. ``conversing``: the share of them that is to be able
    to converse at the same time; 0: any number is admitted."""

    def __init__(self, conversing: float = 1.0) -> None:
        self.model = CostModel()
        self.measured = False
        """Whether the speed of this machine is known. Before, no device is refused."""
        self._conversing = conversing

    @property
    def devices(self) -> int | None:
        """How many devices; None: any number."""
        if not (self._conversing and self.measured):
            return None
        return self.model.devices(self._conversing)
