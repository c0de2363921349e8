"""Commands to a process of the chaos run: one JSON object a line in, one a line out."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support import warm

Handler = Callable[..., Awaitable[Any]]

LINE_LIMIT = 16 * 1024 * 1024
"""Bytes of one line, at most."""


class CommandFailed(Exception):
    """The process answered with an error."""


async def serve_commands(handlers: Mapping[str, Handler], hello: Mapping[str, Any]) -> None:
    """Say ``hello``, then run commands side by side until standard input ends."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    running: set[asyncio.Task[None]] = set()

    def answer(body: Mapping[str, Any]) -> None:
        os.write(sys.stdout.fileno(), json.dumps(body).encode() + b"\n")

    async def run(number: int, name: str, arguments: dict[str, Any]) -> None:
        try:
            answer({"id": number, "result": await handlers[name](**arguments)})
        except Exception as error:  # noqa: BLE001  whatever went wrong is the caller's to judge
            answer({"id": number, "error": f"{type(error).__name__}: {error}"})

    answer(hello)
    while line := await reader.readline():
        command = json.loads(line)
        task = asyncio.create_task(run(command["id"], command["run"], command["with"]))
        running.add(task)
        task.add_done_callback(running.discard)
    for task in list(running):
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


class Process:
    """A child that serves commands. ``hello`` is its first line; its errors go to ``log``."""

    def __init__(self, process: asyncio.subprocess.Process, hello: dict[str, Any]) -> None:
        self._process = process
        self.hello = hello
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._last = 0
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, module: str, log: Path, **options: Any) -> Process:  # noqa: ANN401  JSON
        """Run ``python -m module`` with ``options`` as JSON in its first argument."""
        with log.open("ab") as errors:
            process = await warm.create_subprocess_exec(
                *(sys.executable, "-m", module, json.dumps(options)),
                cwd=Path.cwd(),
                env=warm.around(),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=LINE_LIMIT,
            )
        assert process.stdout is not None
        async with asyncio.timeout(60):
            line = await process.stdout.readline()
        if not line:
            raise CommandFailed(f"{module} did not start: {log.read_text()[-2000:]}")  # noqa: ASYNC240  the end
        return cls(process, json.loads(line))

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    async def call(self, name: str, *, timeout: float = 30.0, **arguments: Any) -> Any:  # noqa: ANN401  JSON
        """Run a command and return its result. Raises CommandFailed, TimeoutError."""
        assert self._process.stdin is not None
        self._last += 1
        number = self._last
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        command = {"id": number, "run": name, "with": arguments}
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            await self._process.stdin.drain()
            async with asyncio.timeout(timeout):
                return await future
        except ConnectionError as error:
            raise CommandFailed(f"{name}: the process is gone") from error
        finally:
            del self._waiting[number]

    async def stop(self, timeout: float = 15.0) -> int:
        """End standard input and wait; return the exit status (it is killed after ``timeout``)."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(timeout):
                status = await self._process.wait()
        except TimeoutError:
            self._process.kill()
            status = await self._process.wait()
        await self._reading
        return status

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            answer = json.loads(line)
            future = self._waiting.get(answer["id"])
            if future is None or future.done():
                continue
            if "error" in answer:
                future.set_exception(CommandFailed(answer["error"]))
            else:
                future.set_result(answer["result"])
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(CommandFailed("the process ended"))
