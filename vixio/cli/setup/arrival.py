"""Runs the server and waits for the device: until it is there, has been heard and has answered."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Final

import segno

from vixio import server
from vixio.cli.banner import console_url, only_here, urls
from vixio.cli.setup.words import Words
from vixio.cluster.context import ServerInfo
from vixio.composition.info import about, sign_in_link
from vixio.composition.run import run, stop_on_signals
from vixio.core.session.events import (
    Event,
    Failure,
    FinalTranscript,
    SessionOpened,
    SpeechPlayed,
)
from vixio.settings import Settings

Show = Callable[[str], None]


_MOST_NAMED: Final = 10
"""Devices that are announced before the first answer."""


class Arrival:
    """Tells a person at the terminal what the first device does, until it has answered once."""

    def __init__(self, words: Words, show: Show) -> None:
        self._words = words
        self._show = show
        self._seen: set[str] = set()
        self._done = False

    def listening(self, about: ServerInfo, link: str = "") -> None:
        """Show where the device finds the server, and the console. ``link``: signs in there."""
        show_url(about, self._words, self._show, link)
        self._show(f"\n{self._words('waiting')}")

    def __call__(self, event: Event) -> None:
        """Take one event. After the first answer the words are the user's own affair."""
        words, show = self._words, self._show
        if self._done:
            return
        if isinstance(event, SessionOpened):
            if event.device_id not in self._seen and len(self._seen) < _MOST_NAMED:
                self._seen.add(event.device_id)
                show(words("here", name=event.device_id))
        elif isinstance(event, FinalTranscript):
            show(words("heard", text=event.text) if event.understood else words("not_understood"))
        elif isinstance(event, Failure) and not event.partial:
            show(words("turn_failed", detail=event.detail))
        elif isinstance(event, SpeechPlayed):
            show(words("answered", text=event.text))
            show(words("done"))
            self._done = True


def show_url(about: ServerInfo, words: Words, show: Show, link: str = "") -> None:
    """Show the OTA URL as text and as a QR code, and the console, with a link that signs in."""
    ota, _ = urls(about)
    show(f"\n{words('url')}\n\n  {ota}\n")
    if only_here(ota):
        show(words("url.local"))
    if code := qr_code(ota):
        show(code)
    if about.console:
        show(words("console", url=console_url(about, link)))


async def serve(settings: Settings, words: Words, show: Show) -> None:
    """Serve devices until a signal, and show how the first one gets on. Raises ConfigError."""
    app = server.Server(settings)
    arrival = Arrival(words, show)
    app.events.attach(arrival)

    async def listening() -> None:
        arrival.listening(about(app), await sign_in_link(app))

    await run(app, stop_on_signals(), listening)


_BORDER = 2
"""Modules around it. The norm has 4; cameras need less, and a terminal has few lines."""


def qr_code(text: str) -> str:
    """Return ``text`` as a QR code of block characters; empty if the terminal has no such ones.

    Light is drawn and dark is left out, as it is right on a dark background; cameras read the
    inverse as well.
    """
    out = io.StringIO()
    segno.make(text, error="l", micro=False).terminal(out, border=_BORDER, compact=True)
    code = out.getvalue().rstrip("\n")
    try:
        code.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ""
    return code
