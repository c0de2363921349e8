"""The pages of the console: each is held against axe, narrow windows and policies, and pictured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Place:
    """A page. ``{device}`` in ``address`` stands for the id of a device with a conversation.

    ``route``: its name in ``routes.js``. ``ready``: what is there when it is drawn, as a selector.
    ``unsteady``: what differs from run to run and is hidden in pictures, as a selector.
    """

    name: str
    route: str
    ready: str
    more: str = ""
    signed_in: bool = True
    unsteady: str = ""

    def address(self, device: str = "") -> str:
        """Return what stands behind the address of the console."""
        return f"#/{self.route}{self.more.format(device=device.replace(':', '%3A'))}"


PLACES: Final = (
    Place("login", "login", "input[type=password]", signed_in=False),
    Place("components", "components", "main .card", signed_in=False),
    Place("devices", "devices", ".device-list .device"),
    Place("device", "device", "vx-turn", "/{device}"),
    Place("device-past", "device", "[role=tabpanel]", "/{device}/past"),
    Place("device-tools", "device", "[role=tabpanel]", "/{device}/tools"),
    Place("device-details", "device", "[role=tabpanel] dl", "/{device}/details"),
)
"""In the order in which a newcomer meets them."""
