"""What a mistake is, and how it is made: files, an environment, a command, and what it prints.

A command runs in this process, through the entry point of the command line, in an empty directory;
so a mistake takes milliseconds, or as long as the parts that it starts. Nothing here belongs to
pytest: ``python -m tests.mistakes`` writes the snapshots by the same code.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shlex
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from click.testing import CliRunner

from vixio.cli.commands import main
from vixio.composition import core_speed
from vixio.providers.pocketsphinx import provider as pocketsphinx
from vixio.providers.pocketsphinx.messages import WorkerSettings

CHECKOUT = Path(__file__).resolve().parents[2]

SETTINGS = "vixio.yaml"

ANY_PORTS = "server: {port: 0, http_port: 0}\n"
"""For settings that `vixio check` tries: another program may have the default ports."""

LIVE = "--live"
"""With it a command needs a recogniser that hears what is said."""

HEADING = "^──── "
"""How a mistake begins in a snapshot."""

_HIDDEN = ("OPENAI_", "VIXIO_", "HTTP_", "HTTPS_", "ALL_PROXY", "NO_PROXY", "NO_COLOR", "XDG_")
"""Variables of the person who runs the tests that a command would read."""

Around = Callable[[], AbstractContextManager[Mapping[str, str]]]
"""What is there while the command runs: gives the words that stand for ``<NAME>`` in the files."""


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """One mistake. ``<NAME>`` in a file, the command or the environment comes from ``around``."""

    name: str
    story: str
    """What the person did, in a sentence."""
    settings: str | bytes | None = None
    """The text of ``vixio.yaml``; None: there is no such file."""
    command: str = "vixio check"
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str | bytes | None] = field(default_factory=dict)
    """Further files by name; None: a directory."""
    not_installed: tuple[str, ...] = ()
    """Modules that cannot be imported."""
    around: Around | None = None
    typed: str | None = None
    """What stands in standard input."""
    status: int = 2
    """The exit status that is right for it."""


@dataclass(frozen=True)
class Outcome:
    """What a command printed, with everything that differs between machines replaced."""

    status: int
    output: str
    error: str
    defect: BaseException | None
    """An exception that left the command: a traceback for the person."""

    @property
    def printed(self) -> str:
        """Standard output and standard error."""
        return self.output + self.error


def make(mistake: Mistake) -> Outcome:
    """Make the mistake in an empty directory."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory())).resolve()
        words = dict(stack.enter_context(mistake.around())) if mistake.around else {}
        stack.enter_context(_working_in(directory))
        stack.enter_context(_environment(mistake, directory, words))
        stack.enter_context(_without(mistake.not_installed))
        stack.enter_context(_logging_as_before())
        stack.enter_context(_known_machine())
        if LIVE not in mistake.command:
            stack.enter_context(_recogniser_without_processes())
        for name, content in _files(mistake).items():
            _write(directory / name, content, words)
        program, *arguments = shlex.split(_filled(mistake.command, words))
        assert program == "vixio"
        done = CliRunner().invoke(main, arguments, input=mistake.typed, prog_name="vixio")
    ours = done.exception is None or isinstance(done.exception, SystemExit)
    return Outcome(
        done.exit_code,
        _normal(done.stdout, directory, words),
        _normal(done.stderr, directory, words),
        None if ours else done.exception,
    )


def shown(mistake: Mistake, outcome: Outcome) -> str:
    """Return the mistake as its snapshot shows it: the story, the files, the command, its words."""
    parts = [f"──── {mistake.name} {'─' * max(4, 90 - len(mistake.name))}", mistake.story, ""]
    for name, content in _files(mistake).items():
        if content is not None:
            parts += [f"  {name}:", *_quoted(content), ""]
    for name, value in mistake.environment.items():
        parts.append(f"  {name}={value}")
    if mistake.not_installed:
        parts.append(f"  (not installed: {', '.join(mistake.not_installed)})")
    parts += [
        f"  $ {mistake.command}",
        *_quoted(_without_what_works(outcome.printed)),
        f"  exit status {outcome.status}",
    ]
    return "\n".join(line.rstrip() for line in parts) + "\n"


def _files(mistake: Mistake) -> Mapping[str, str | bytes | None]:
    if mistake.settings is None:
        return mistake.files
    return {SETTINGS: mistake.settings, **mistake.files}


def _without_what_works(text: str) -> str:
    """Return the output of `vixio check` without the parts that work."""
    lines = text.splitlines()
    shown = [line for line in lines if not re.match(r"\w+ +ok  ", line)]
    return "\n".join([*shown, *(["(the other parts: ok)"] if len(shown) < len(lines) else [])])


_VISIBLE = {"\t": "→", "\ufeff": "␢", "\u00a0": "⍽", "\0": "␀", "\x10": "␐"}


def _quoted(content: str | bytes) -> Iterator[str]:
    """Yield the lines of a text, with what nobody would see made visible."""
    text = content if isinstance(content, str) else content.decode("utf-8", "backslashreplace")
    text = text.removesuffix("\n")
    for line in text.replace("\r\n", "␍\n").split("\n"):
        visible = "".join(_VISIBLE.get(each, each) for each in line)
        yield f"    │ {visible}"


def _write(path: Path, content: str | bytes | None, words: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is None:
        path.mkdir()
    elif isinstance(content, str):
        path.write_bytes(_filled(content, words).encode())
    else:
        path.write_bytes(content)


def _filled(text: str, words: Mapping[str, str]) -> str:
    for name, value in words.items():
        text = text.replace(f"<{name}>", value)
    return text


def _normal(text: str, directory: Path, words: Mapping[str, str]) -> str:
    # Where the source is, and which environment is in use.
    install = r"\bmake (?:-C \S+ )?extra NAME=(\w+|'[^']*')(?: VENV=[^\s`]+)?"
    text = re.sub(install, r"make extra NAME=\1", text).replace(str(directory), "DIR")
    # The environment first, which is inside the checkout or not.
    text = text.replace(sys.prefix, "ENV").replace(str(CHECKOUT), "CHECKOUT")
    for name, value in words.items():
        text = text.replace(value, f"<{name}>")
    text = re.sub(r"\x1b\[[0-9;]*[mK]", "", text)
    text = re.sub(r"\b\d+(\.\d+)? ms\b", "N ms", text)
    text = re.sub(r"\b\d+\.\d+ s\b", "N s", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S*", "TIME", text)
    text = re.sub(r"\b\d+ builtin\b", "N builtin", text)
    text = re.sub(r"by process \d+ \([^)]*\)", "by process PID (PROGRAM)", text)
    text = re.sub(r"\bport=\d+", "port=PORT", text)
    # The address of this machine, which `check` recommends for the device.
    return re.sub(r"http://[^/ ]+(:\d+|:PORT)(/xiaozhi/ota/)", r"http://HOST\1\2", text)


@contextmanager
def _working_in(directory: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _environment(mistake: Mistake, directory: Path, words: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    for name in before:
        if name.upper().startswith(_HIDDEN):
            del os.environ[name]
    os.environ["XDG_STATE_HOME"] = str(directory / "state")
    for name, value in mistake.environment.items():
        os.environ[name] = _filled(value, words)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _without(modules: tuple[str, ...]) -> Iterator[None]:
    """Have imports of ``modules`` fail as those of a package that is not installed."""
    names = [
        name for name in sys.modules if any(f"{name}.".startswith(f"{each}.") for each in modules)
    ]
    before = {name: sys.modules.pop(name) for name in names}
    for name in modules:
        sys.modules[name] = None  # type: ignore[assignment]  # how Python says: not to be found
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(before)


class _Worker:
    """What a worker of PocketSphinx says to silence. It has no process."""

    def open(self, request: bytes) -> tuple[int, asyncio.Future[dict[str, Any]]]:
        result = asyncio.get_running_loop().create_future()
        result.set_result(
            {"words": [], "guess": [], "score": 0.0, "rejected": False, "confidence": None}
        )
        return 1, result

    def send(self, *frame: object) -> None: ...

    async def drain(self) -> None: ...

    def forget(self, number: int) -> None: ...


class _Workers:
    workers = ()

    def __init__(self, settings: WorkerSettings, size: int) -> None: ...

    async def start(self) -> None: ...

    def prepare(self, request: bytes) -> None: ...

    async def choose(self) -> _Worker:
        return _Worker()

    async def close(self) -> None: ...


def _recogniser_without_processes() -> AbstractContextManager[object]:
    """Let the default recogniser start at once: it works in every mistake, and its two processes
    would take most of the time. `vixio check` with the real one: tests/unit/diagnostics."""
    return patch.object(pocketsphinx, "RecognitionPool", _Workers)


_path = cache(sysconfig.get_path)


@contextmanager
def _known_machine() -> Iterator[None]:
    """Let every command find the speed of a core and the folders of Python without a measurement.

    Each takes some milliseconds, in all of 180 commands.
    """

    def timed(parts: int) -> float:
        return parts * core_speed.REFERENCE_S / core_speed.PARTS

    with patch.object(core_speed, "_timed", timed), patch.object(sysconfig, "get_path", _path):
        yield


@contextmanager
def _logging_as_before() -> Iterator[None]:
    from vixio.telemetry.logging.setup import CHATTY

    root = logging.getLogger()
    touched = [root, *map(logging.getLogger, ("vixio", *CHATTY))]
    before = [(log, log.level, log.handlers[:]) for log in touched]
    try:
        yield
    finally:
        for log, level, handlers in before:
            log.setLevel(level)
            log.handlers = handlers
