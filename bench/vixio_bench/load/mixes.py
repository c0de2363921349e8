"""What the devices do: the mixes that ``--mix`` names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

BLOCKED: Final = 0
"""The device whose provider blocks in the mix ``slow``."""

Behaviour = Literal["idle", "listen", "talk", "speak", "churn"]
"""What one device does. ``churn``: some turns, then it goes, properly or not, and comes again."""


@dataclass(frozen=True, slots=True)
class Mix:
    """One way to load the server. ``ramp`` and ``hold`` in seconds; ``ramp`` None: by number.

    ``tool``: called in every turn. ``pause``: seconds between two turns, at least and at most; with
    1.7 s of speech, 0.5 s until it counts as ended and a reply of 3 s, the default makes a device
    speak 30 % of the time. ``slow``: half of the devices meet slow providers in the second half.
    ``restart``: the server is killed and started again in the middle. ``default_set``: the server
    runs the product's own providers. ``asks``: typed by each device as soon as it is greeted.
    ``quiet``: seconds in which all only listen, before the first turn: what that costs is not part
    of a turn.
    """

    name: str
    about: str
    behaviour: Behaviour
    hold: float = 30.0
    devices: int = 50
    ramp: float | None = None
    tool: str = ""
    pause: tuple[float, float] = (3.0, 6.6)
    slow: bool = False
    restart: bool = False
    default_set: bool = False
    asks: str = ""
    quiet: float = 0.0


_ALL: Final = (
    Mix("idle", "connected, microphone off", "idle", devices=200),
    Mix("listen", "all listening to noise", "listen", devices=200),
    Mix("talk", "conversations; each device speaks 30 % of the time", "talk", hold=40),
    Mix("solo", "one device, turn upon turn", "talk", hold=120, devices=1,
        pause=(0.1, 0.3), quiet=5.0),
    Mix("converse", "all in conversation, turn upon turn", "talk", pause=(0.1, 0.3), quiet=5.0),
    Mix("speak", "all speaking without a pause", "speak", devices=200, hold=60),
    Mix("tools", "conversations with a call of a device's tool in every turn", "talk",
        hold=40, tool="self.audio_speaker.set_volume"),
    Mix("storm", "all connect at once (--ramp: within that time)", "listen", hold=3, ramp=0.0),
    Mix("restart", "the server is killed; all come back as soon as it is", "talk",
        hold=20, restart=True),
    Mix("slow", "half of the devices get a slow ASR, one a blocking one, half-way", "talk",
        devices=100, hold=80, slow=True),
    Mix("churn", "conversations, connects and drops without end", "churn", hold=1_200),
    Mix("start", "the product's own default set: start, first device, first answer, memory",
        "idle", devices=1, hold=2, default_set=True, asks="what time is it"),
)  # fmt: skip

MIXES: Final = {mix.name: mix for mix in _ALL}
