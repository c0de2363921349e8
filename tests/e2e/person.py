"""A person at a terminal: a program on a pseudo-terminal, read until it asks, and answered."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support import warm
from tests.support.waiting import until

PATIENCE = 90.0
"""Seconds for the next question: parts are loaded and tried between two of them."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Person:
    """What the program has written so far is in ``seen``; ``typed`` comes back unless hidden.

    ``always``: answers to questions that may come at any time or never, such as those that depend
    on how fast the machine is, by the last words before the cursor.
    """

    def __init__(self, process: asyncio.subprocess.Process, terminal: int) -> None:
        self.process = process
        self.seen = ""
        self.patience = PATIENCE
        self.always: dict[str, str] = {}
        self._terminal = terminal
        self._from = 0
        self._news = asyncio.Event()
        self._ended = False

    def read(self) -> None:
        """Take what has been written; called by the event loop."""
        try:
            data = os.read(self._terminal, 65_536)
        except OSError:  # Linux's way to say that the other side is closed
            data = b""
        if not data:
            self._ended = True
            asyncio.get_running_loop().remove_reader(self._terminal)
        self.seen += _ESCAPES.sub("", data.decode("utf-8", "replace")).replace("\r\n", "\n")
        for question, answer in self.always.items():
            if self.seen.endswith(question):
                self.type(answer)
        self._news.set()

    async def expect(self, text: str) -> None:
        """Wait until the program writes ``text``, after what was expected before."""
        try:
            async with asyncio.timeout(self.patience):
                while (at := self.seen.find(text, self._from)) < 0:
                    assert not self._ended, f"it ended without {text!r}:\n{self.seen}"
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError as error:
            raise TimeoutError(f"no {text!r} came:\n{self.seen}") from error
        self._from = at + len(text)

    async def line(self, text: str) -> str:
        """Wait for a line with ``text``, and for its end; return it without blanks around it."""
        await self.expect(text)
        begin = self.seen.rindex("\n", 0, self._from) + 1 if "\n" in self.seen[: self._from] else 0
        await self.expect("\n")
        return self.seen[begin : self._from].strip()

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self._terminal, text.encode() + b"\r")

    def end(self) -> None:
        """Press Ctrl-D, which at the begin of a line is the end of the input."""
        os.write(self._terminal, b"\x04")

    async def answer(self, question: str, text: str) -> None:
        """Wait for ``question`` and the end of its line, where the cursor is; answer it."""
        await self.expect(question)
        await self.expect(": ")
        self.type(text)

    def number(self, option: str) -> str:
        """Return the number of the latest option that has these words."""
        (*_, line) = [each for each in self.seen.splitlines() if option in each]
        return line.split()[0]

    async def interrupt(self) -> None:
        """Press Ctrl-C once the program waits, as a person does who reads a question first.

        Python loses a SIGINT between the writing of a prompt and the wait for a key: it is handled
        at the next key.
        """
        await until(self._waits, what="its question", seconds=self.patience)
        os.write(self._terminal, b"\x03")

    def _waits(self) -> bool:
        """Return whether the program's main thread sleeps; true where the system does not say."""
        try:
            status = Path(f"/proc/{self.process.pid}/stat").read_text("utf-8", "replace")
        except OSError:
            return True
        return status.rpartition(")")[2].split()[0] == "S"

    async def left(self) -> int:
        """Wait for the end; return the exit status."""
        async with asyncio.timeout(self.patience):
            status = await self.process.wait()
            while not self._ended:
                self._news.clear()
                await self._news.wait()
        return status


@asynccontextmanager
async def at_terminal(
    program: Path, *arguments: str, directory: Path, environment: Mapping[str, str]
) -> AsyncIterator[Person]:
    """Run ``program`` on a terminal of its own; it is killed if it still runs at the end."""
    ours, its = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    try:
        process = await warm.create_subprocess_exec(
            *(str(program), *arguments),
            cwd=directory,
            env=dict(environment),
            stdin=its,
            stdout=its,
            stderr=its,
            start_new_session=True,
            terminal=True,  # Python reads passwords from the controlling terminal
        )
    finally:
        os.close(its)
    person = Person(process, ours)
    asyncio.get_running_loop().add_reader(ours, person.read)
    try:
        yield person
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)
