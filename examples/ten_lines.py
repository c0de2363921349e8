"""A voice assistant with a tool of its own: run it, and enter the printed OTA URL on a device.

Then ask "what is the lucky number". Needs no key and no network; VIXIO_CONFIG may name a settings
file.
"""

import os
import random

from vixio import Server, Settings, tool


@tool
def get_lucky_number() -> int:
    """Get the lucky number."""
    return random.randint(1, 99)  # noqa: S311 - a game


if __name__ == "__main__":
    Server(Settings.load(os.getenv("VIXIO_CONFIG")), tools=[get_lucky_number]).run()
