"""Says one utterance after another by the simulated device, and waits for the answers."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from vixio.cli.diagnostics.room import SILENCE_S
from vixio.cli.talk.lines import Lines, Outcome, Turn
from vixio.cli.talk.sound import Player
from vixio.core.tasks import cancel_and_wait

if TYPE_CHECKING:
    from firmware_test_client import Pcm, SimulatedDevice

CONNECT_S: Final = 30.0
"""For a connection, and until the device has played what it was sent."""

CUT_S: Final = 0.5
"""Within which a turn that is interrupted is over, if there was one."""

TRIES: Final = 2
"""A device that was just hung up on calls again, as a person does with a wake word."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """What the user says. ``speech``: the words, or their sound; ``text``: what is shown."""

    text: str
    speech: str | Pcm


Take = Callable[[], Coroutine[Any, Any, Utterance | None]]
"""Waits for the next utterance; None: there is none any more."""


class Talk:
    """Has a device say one utterance after another.

    ``hurried``: a new utterance, or :meth:`interrupt`, stops what is being said and answered, as a
    wake word does. Otherwise each one waits for its answer, for at most ``patience`` seconds behind
    its last word. ``prompt``: shown to a person who types; without one, what is said is printed.
    """

    def __init__(
        self,
        device: SimulatedDevice,
        lines: Lines,
        *,
        patience: float,
        hurried: bool,
        prompt: str = "",
        player: Player | None = None,
    ) -> None:
        self._device = device
        self._lines = lines
        self._patience = patience
        self._hurried = hurried
        self._prompt = prompt
        self._player = player
        self._interrupted = asyncio.Event()
        self._turn: Turn | None = None
        """The last that has ended."""

    def over(self, turn: Turn) -> None:
        """Take note of a turn that has ended."""
        self._lines.over(turn)
        if turn.outcome is not Outcome.INTERRUPTED or not self._hurried:
            self._turn = turn

    def interrupt(self) -> None:
        """Stop what is being said and answered; with nothing of that, end the conversation."""
        self._interrupted.set()

    async def run(self, take: Take) -> None:
        """Say what ``take`` returns, until it returns None. Raises DeviceError."""
        if self._hurried:
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self.interrupt)
        coming = asyncio.create_task(take())
        try:
            while (said := await self._next(coming)) is not None:
                coming = asyncio.create_task(take())
                await self._say_and_wait(said, coming)
            if self._prompt:
                click.echo()  # behind it
            await self._played()
        finally:
            await cancel_and_wait(coming)
            if self._hurried:
                asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

    async def _next(self, coming: asyncio.Task[Utterance | None]) -> Utterance | None:
        """Return the next utterance; None: there is none, or the user ends the conversation.

        What the server says or answers meanwhile, to a microphone too, can be interrupted.
        """
        if not coming.done():
            click.echo(self._prompt, nl=False)
        while True:
            await self._first(coming)
            if not self._interrupted.is_set():
                return coming.result()
            self._interrupted.clear()
            if not (self._lines.turn_is_open or self._device.state == "speaking"):
                return None
            await self._stop()

    async def _first(self, *tasks: asyncio.Task[Any]) -> None:
        """Wait for one of the tasks, or for an interruption."""
        interrupted = asyncio.create_task(self._interrupted.wait())
        try:
            await asyncio.wait({*tasks, interrupted}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_and_wait(interrupted)

    async def _say_and_wait(self, said: Utterance, coming: asyncio.Task[Utterance | None]) -> None:
        task = asyncio.create_task(self._answered(said))
        try:
            await self._first(task, *([coming] if self._hurried else []))
            if task.done():
                task.result()
                return
            self._interrupted.clear()
        finally:
            await cancel_and_wait(task)
        await self._stop()

    async def _answered(self, said: Utterance) -> None:
        """Say it, and wait until its turn is over."""
        if not self._prompt:
            self._lines.say("user", said.text)
        for _ in range(TRIES):
            try:
                await self._connect()
                await asyncio.sleep(SILENCE_S)  # nobody speaks in the instant of being heard
                self._turn = None
                await self._device.say(said.speech)
                await self._device.wait_for(self._is_over, what="an answer", timeout=self._patience)
            except TimeoutError:
                self.over(Turn(Outcome.SILENT))
            if self._turn is not None:
                return
        self.over(Turn(Outcome.SILENT))

    def _is_over(self) -> bool:
        lost = not (self._device.connected or self._lines.turn_is_open)
        return self._turn is not None or lost

    async def _connect(self) -> None:
        """Wait until the device listens, and connect it where the conversation has ended."""
        async with asyncio.timeout(CONNECT_S):
            while not (self._device.connected and self._device.listening):
                if not self._device.connected:
                    await self._device.connect()
                await self._device.wait_for(
                    lambda: self._device.listening or not self._device.connected,
                    what="a listening device",
                    timeout=CONNECT_S,
                )

    async def _stop(self) -> None:
        """Interrupt as a wake word does."""
        self._device.hush()
        if self._player is not None:
            self._player.stop()
        if self._device.connected and self._device.state in ("speaking", "listening"):
            turns = len(self._lines.turns)
            await self._device.wake()
            with suppress(TimeoutError):
                await self._device.wait_for(
                    lambda: len(self._lines.turns) > turns, what="the cut", timeout=CUT_S
                )
        self._lines.turn_is_open = False

    async def _played(self) -> None:
        """Wait until the device has played what it was sent."""
        with suppress(TimeoutError):
            await self._device.wait_for(
                lambda: not self._device.replies or self._device.replies[-1].ended,
                what="the end of the sound",
                timeout=CONNECT_S,
            )
