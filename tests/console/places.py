"""The pages of the console: each is held against axe, narrow windows and policies, and pictured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Place:
    """A page of a :func:`tests.console.household.household`.

    ``more``: what follows in its address; ``{device}`` is the id of a device with a conversation.
    ``route``: its name in ``routes.js``. ``ready``: what is there when all is drawn, as a selector.
    ``unsteady``: what differs from run to run and is hidden in pictures, as a selector.
    ``refused``: requests whose answer 422 is expected, as a pattern.
    ``pictured``: false where a picture would show what is another in each run, or nothing of use.
    """

    name: str
    route: str
    ready: str
    more: str = ""
    signed_in: bool = True
    unsteady: str = ""
    refused: str = ""
    pictured: bool = True

    def address(self, device: str) -> str:
        """Return what stands behind the address of the console."""
        return f"#/{self.route}{self.more.format(device=device.replace(':', '%3A'))}"


PLACES: Final = (
    Place("login", "login", "input[type=password]", signed_in=False),
    Place("talk", "talk", "main button", signed_in=False),
    Place("components", "components", "main .card", signed_in=False, pictured=False),
    Place(
        "home",
        "home",
        "main:has(.home-turns):has(.home-troubles li):has(.home-cards .line) h1",
    ),
    Place("add", "add", ".add-step .qr[src]"),
    Place("add-device", "add", ".add-there", "/{device}", pictured=False),
    Place("devices", "devices", ".device-list .device"),
    Place("device", "device", "vx-turn", "/{device}"),
    Place("device-past", "device", "[role=tabpanel]", "/{device}/past", pictured=False),
    Place("device-tools", "device", "[role=tabpanel]", "/{device}/tools", pictured=False),
    Place(
        "device-details", "device", "main option[value=butler]", "/{device}/details", pictured=False
    ),
    Place("profiles", "profiles", "main a[href$=butler]"),
    Place("profile", "profiles", "main [data-path]", "/butler"),
    Place("assistant", "assistant", "[data-part=tools] .empty", unsteady="[data-part] .mono"),
    Place("assistant-setup", "assistant", ".picks.columns", "/setup", pictured=False),
    Place(
        "assistant-model",
        "assistant",
        ".pick",
        "/setup/agent",
        unsteady=".pick [role=status]",
        refused="/assistant/models$",
    ),
    Place("assistant-voice", "assistant", ".pick", "/setup/tts", pictured=False),
    Place("assistant-tools", "assistant", "main form .empty", "/setup/tools", pictured=False),
    Place("conversations", "conversations", ".found vx-turn"),
    Place("memory", "memory", "[role=tabpanel] li, [role=tabpanel] tr"),
    Place("memory-announce", "memory", "main textarea", "/announce", pictured=False),
    Place("memory-people", "memory", "[role=tabpanel] a", "/people", pictured=False),
    Place("memory-device", "memory", "[role=tabpanel] .card", "/devices/{device}"),
    Place("server", "server", "[role=slider][aria-valuetext*=MB]"),
    Place("server-parts", "server", ".part[data-source]", "/parts"),
    Place("server-log", "server", ".log-lines li", "/log", pictured=False),
    Place("server-settings", "server", ".setting-section", "/settings", pictured=False),
    Place("server-access", "server", "[data-login]", "/access"),
    Place("server-firmware", "server", ".empty", "/firmware", pictured=False),
)
"""In the order in which a newcomer meets them."""
