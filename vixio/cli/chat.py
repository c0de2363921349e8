"""``vixio ask`` and ``vixio chat``: typed conversations with the configured agent.

The answer goes to standard output; tool calls and failures go to standard error.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vixio.cli.config import config_option, read_config
from vixio.cli.status import StatusLine
from vixio.core.chunk import Chunk, Farewell, Notice, TextDelta, ToolCalled, ToolReturned
from vixio.core.errors import ConfigError, VixioError

if TYPE_CHECKING:
    from vixio.core.session.conversation import Conversation
    from vixio.settings import Settings

T = TypeVar("T")

DEFAULT_KEY = "terminal"
_SHOWN_CHARS = 200
"""Of a tool's answer."""


def key_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option ``--as``."""
    return click.option(
        "--as",
        "key",
        metavar="NAME",
        default=DEFAULT_KEY,
        show_default=True,
        help="Takes the place of a device's id: its memory and its settings are used.",
    )(command)


@click.command()
@click.argument("text")
@key_option
@config_option
def ask(text: str, key: str, config: Path | None) -> None:
    """Ask the configured agent one question in writing.

    TEXT - is read from standard input.
    """
    words = (sys.stdin.read() if text == "-" else text).strip()
    if not words:
        raise ConfigError('the question is empty: write it in quotes, vixio ask "what time is it"')
    asyncio.run(_ask(silent_settings(config), key, words))


@click.command()
@key_option
@config_option
def chat(key: str, config: Path | None) -> None:
    """Converse with the configured agent in writing, without a device.

    Each line is a question. Ctrl-C stops the answer; Ctrl-D, or Ctrl-C at the prompt, ends it.
    """
    asyncio.run(_chat(silent_settings(config), key))


async def _ask(settings: Settings, key: str, text: str) -> None:
    async with _conversation(settings, key) as conversation:
        await Printer().reply(conversation, text)


async def _chat(settings: Settings, key: str) -> None:
    async with _conversation(settings, key) as conversation:
        await Chat(conversation).run(read_lines())


@asynccontextmanager
async def _conversation(settings: Settings, key: str) -> AsyncIterator[Conversation]:
    from vixio.server import Server

    async with Server(settings) as server:
        with StatusLine() as status:
            status.show(f"starting the agent {settings.agent.name} …")
            opened = await server.conversation(key)
        async with opened:
            yield opened


class Printer:
    """Prints replies as they are written."""

    def __init__(self) -> None:
        self._within_line = False

    async def reply(self, conversation: Conversation, text: str) -> bool:
        """Print the reply to ``text``; return whether the assistant ended the conversation."""
        ended = False
        try:
            async with aclosing(conversation.stream(text)) as pieces:
                async for piece in pieces:
                    self._show(piece)
                    ended = ended or isinstance(piece, Farewell)
        finally:
            self._end_line()
        return ended

    def _show(self, piece: Chunk) -> None:
        match piece:
            case TextDelta(text=text):
                click.echo(text, nl=False)
                self._within_line = not text.endswith("\n")
            case ToolCalled(name=name, arguments=arguments):
                self._note(f"{name} {arguments}")
            case ToolReturned(output=output, success=success):
                words = " ".join(output.split())
                shown = words if len(words) <= _SHOWN_CHARS else f"{words[:_SHOWN_CHARS]}…"
                self._note(f"{'→' if success else '✗'} {shown}")
            case Notice(text=text):
                self._note(f"({text})")
            case _:
                pass

    def _note(self, text: str) -> None:
        self._end_line()
        click.echo(f"  {text}", err=True)

    def _end_line(self) -> None:
        if self._within_line:
            click.echo()
        self._within_line = False


class Chat:
    """A conversation on a terminal."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._printer = Printer()
        self._waiting: asyncio.Task[Any] | None = None

    async def run(self, lines: asyncio.Queue[str | None]) -> None:
        """Answer each of ``lines``, until there are no more or the assistant says goodbye."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self.interrupt)
        try:
            while (text := await self._next(lines)) is not None:
                if (question := text.strip()) and await self._answer(question):
                    return
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    def interrupt(self) -> None:
        """Stop the answer, or at the prompt the conversation."""
        if self._waiting is not None:
            self._waiting.cancel()

    async def _next(self, lines: asyncio.Queue[str | None]) -> str | None:
        if sys.stdin.isatty():
            click.echo("> ", nl=False)
        try:
            return await self._interruptible(asyncio.create_task(lines.get()))
        except _Interrupted:
            return None

    async def _answer(self, text: str) -> bool:
        try:
            reply = self._printer.reply(self._conversation, text)
            return await self._interruptible(asyncio.create_task(reply))
        except _Interrupted:
            click.echo("  (interrupted)", err=True)
        except VixioError as error:
            click.echo(f"vixio: {' '.join(str(error).split())}", err=True)
        return False

    async def _interruptible(self, task: asyncio.Task[T]) -> T:
        """Wait for ``task``; raise _Interrupted if :meth:`interrupt` cancels it."""
        self._waiting = task
        try:
            await asyncio.wait((task,))
        finally:
            self._waiting = None
            task.cancel()
        if task.cancelled():
            raise _Interrupted
        return task.result()


class _Interrupted(Exception):
    """Ctrl-C was pressed."""


def read_lines() -> asyncio.Queue[str | None]:
    """Return a queue with the lines of standard input; None at its end."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def put(line: str | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(lines.put_nowait, line)

    def read() -> None:
        for line in sys.stdin:
            put(line)
        put(None)

    # A daemon: a thread that waits for a line cannot be stopped.
    threading.Thread(target=read, name="vixio-stdin", daemon=True).start()
    return lines


def silent_settings(config: Path | None) -> Settings:
    """Return the settings, without any log. Raises ConfigError."""
    from vixio.telemetry.logging.setup import configure_logging

    configure_logging("CRITICAL")  # what fails is printed as one line
    return read_config(config)
