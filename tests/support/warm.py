"""Python programs without the start of Python: real processes, forked by a warm parent.

What a program costs before its first own step is the interpreter and the imports: two seconds of
processor for `vixio serve`. The warm parent (``warm_parent.py``) pays that once for each process of
pytest, or for all that the schedule starts (:func:`share`), and forks itself for each program.
:func:`why_cold` says which programs have to start anew; those do, and nobody who calls sees a
difference.

The processes are children of the warm parent and not of this one. So only the parent can wait for
them: it writes to a pipe of each process that this has begun, and how it has ended.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import select
import socket
import subprocess
import sys
import threading
from asyncio.base_subprocess import BaseSubprocessTransport
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from tests.support.warm_parent import (
    BY_THE_LOADER,
    ENDED,
    IN_LIBRARIES,
    LENGTH,
    STARTED,
    limits,
    path_entries,
    receive,
)

ROOT = Path(__file__).parents[2]
EARLY: Final = (*BY_THE_LOADER, *IN_LIBRARIES)
KEPT: Final = ("PATH", "HOME", "LANG", "PYTHONPATH", "XDG_STATE_HOME", "XDG_DATA_HOME")
"""Of the variables of the tests, what the parent gets, and what most programs get.

XDG_…: the folders of the tests, so that the user's own are left alone.
"""

SHARED: Final = "VIXIO_TEST_WARM_PARENT"
"""Variable with the address of a parent that others share."""

STREAM_LIMIT: Final = 2**16
"""Of asyncio's function."""

SUPPORTED: Final = sys.platform == "linux"
"""Elsewhere libraries of the system may have threads that no fork survives (macOS)."""


def kept() -> dict[str, str]:
    """Return what a program gets of the environment of the tests."""
    return {name: os.environ[name] for name in KEPT if name in os.environ}


def around() -> dict[str, str]:
    """Return the environment of the tests, but of what is read early only what the parent gets."""
    late = {name: value for name, value in os.environ.items() if not name.startswith(EARLY)}
    return {**late, **kept()}


class WarmParent:
    """The parent of the programs that this process starts.

    ``address``: a socket's path, where others may share it. ``shared``: whether it is another's,
    which listens there.
    """

    def __init__(self, address: str = "", *, shared: bool = False) -> None:
        self.owner = os.getpid()
        self.process = None if shared else self._begin(address)
        if shared:
            self._control = socket.socket(socket.AF_UNIX)
            self._control.connect(address)
        self._lock = threading.Lock()
        head = receive(self._control, LENGTH.size)
        assert head, "the warm parent did not start; it has said why on standard error"
        (length,) = LENGTH.unpack(head)
        hello = json.loads(receive(self._control, length))
        self.started: dict[str, str] = hello["started"]
        self.read: dict[str, str | None] = hello["read"]
        self.added: dict[str, str] = hello["added"]
        self.threads: int = hello["threads"]
        self.path: list[str] = hello["path"]
        self.modules: list[str] = hello["modules"]

    def _begin(self, address: str) -> subprocess.Popen[bytes]:
        self._control, its = socket.socketpair()
        command = [sys.executable, "-m", "tests.support.warm_parent", str(its.fileno())]
        with its:
            return subprocess.Popen(
                [*command, address] if address else command,
                cwd=ROOT,
                env=kept(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
            )

    def differs(self, environment: Mapping[str, str]) -> str | None:
        """Return a variable that was read early and is another one in ``environment``."""
        needed = {name: value for name, value in self.added.items() if not environment.get(name)}
        its = {**environment, **needed}
        early = {name for name in (*its, *self.started) if name.startswith(EARLY)}
        known: dict[str, str | None] = {name: self.started.get(name) for name in early}
        known |= {name: value for name, value in self.added.items() if name in early}
        known |= self.read
        if self._path_may_differ(environment):
            known.pop("PYTHONPATH", None)
        return next((name for name in sorted(known) if its.get(name) != known[name]), None)

    def _path_may_differ(self, environment: Mapping[str, str]) -> bool:
        """Return whether PYTHONPATH has what the parent's has, and nothing that it has imported."""
        its, own = path_entries(environment), path_entries(self.started)
        if [each for each in its if each in own] != own:
            return False
        found = {
            entry.name.partition(".")[0]
            for folder in its
            if folder not in self.path and Path(folder).is_dir()
            for entry in Path(folder).iterdir()
        }
        return not found & {*self.modules, "sitecustomize", "usercustomize"}

    def start(self, request: Mapping[str, object], descriptors: Sequence[int]) -> None:
        """Have a program started. ``descriptors``: its three streams, and the pipe for reports."""
        content = json.dumps(request).encode()
        with self._lock:
            socket.send_fds(self._control, [LENGTH.pack(len(content))], descriptors)
            self._control.sendall(content)

    def close(self) -> None:
        """End the parent, if it is this process's own; its programs go on."""
        self._control.close()
        if self.process is not None:
            self.process.wait()


_parent: WarmParent | None = None
_starting = threading.Lock()


def parent() -> WarmParent:
    """Return the parent of this process: the one that is shared, or one that is started now."""
    global _parent  # noqa: PLW0603 - one for each process, as long as it runs
    with _starting:
        if _parent is None or _parent.owner != os.getpid():
            address = os.environ.get(SHARED, "")
            _parent = WarmParent(address, shared=bool(address))
            atexit.register(_parent.close)
        return _parent


@contextmanager
def share(address: Path) -> Iterator[None]:
    """Start a parent for this process and the programs that it starts warm, and theirs."""
    global _parent  # noqa: PLW0603
    if not SUPPORTED:
        yield
        return
    assert _parent is None, "before the first program"
    with closing(WarmParent(str(address))) as _parent:
        os.environ[SHARED] = str(address)
        try:
            yield
        finally:
            del os.environ[SHARED]
            _parent = None


def words_of(command: Sequence[str]) -> list[str] | None:
    """Return the words behind the interpreter's name, or None where it is not this interpreter."""
    program, *words = command
    if program == sys.executable:
        # With other options it is another interpreter: -X, -W, -I.
        plain = len(words) > 1 and words[0] in {"-m", "-c"}
        return words if plain or (words and not words[0].startswith("-")) else None
    try:
        with Path(program).open("rb") as file:
            script = file.readline(1_024) == f"#!{sys.executable}\n".encode()
    except OSError:
        return None
    return [program, *words] if script else None


def why_cold(command: Sequence[str], directory: str, environment: Mapping[str, str]) -> str | None:
    """Return why a program has to start anew, or None."""
    if not SUPPORTED:
        return "the system"
    if words_of(command) is None:
        return "the command"
    if not Path(directory).is_dir():
        return "the directory"  # the start says what is wrong with it
    if parent().threads != 1:
        return "the parent's threads"
    if name := parent().differs(environment):
        return f"the variable {name}"
    return None


def _umask() -> int:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1], 8) for line in lines if line.startswith("Umask:"))


class WarmPopen(subprocess.Popen[Any]):
    """A process of the warm parent. What it does itself is what needs the process's own parent."""

    processor_s: float = 0.0
    """What it has used, once it has ended, with its children that it has waited for."""

    all_s = 0.0
    """Seconds of processor of all that have ended: ``os.times()`` does not count them."""

    def __init__(self, command: Sequence[str], *, terminal: bool = False, **options: Any) -> None:  # noqa: ANN401 - of Popen
        self._reports = -1
        self._terminal = terminal
        self.watched = False
        super().__init__(command, **options)

    def __del__(self) -> None:
        """Leave no descriptor behind."""
        super().__del__()
        self.close_reports()

    def fileno(self) -> int:
        """Return the pipe that is readable once the process has ended."""
        return self._reports

    def close_reports(self) -> None:
        """Close that pipe. ``watched``: an event loop still has it."""
        if self._reports >= 0:
            os.close(self._reports)
            self._reports = -1

    def _execute_child(
        self,
        args: Sequence[str],
        executable: object,
        preexec_fn: object,
        close_fds: bool,
        pass_fds: Sequence[int],
        cwd: str | Path | None,
        env: Mapping[str, str] | None,
        startupinfo: object,
        creationflags: int,
        shell: bool,
        *more: Any,  # noqa: ANN401 - six descriptors, and what no caller here gives
    ) -> None:
        assert not any((executable, preexec_fn, pass_fds, shell)), "no part of a request"
        pipes: Sequence[int] = more[:6]
        streams = [given if given >= 0 else own for own, given in enumerate(_ends(pipes))]
        (*_, new_session, group) = more
        assert group in {-1, 0}, "no part of a request"
        request = {
            "words": words_of(args),
            "directory": os.fspath(cwd or Path.cwd()),
            "environment": dict(os.environ if env is None else env),
            "umask": _umask(),
            "limits": list(limits().items()),
            "new_session": new_session,
            "new_group": group == 0,
            "terminal": self._terminal,
        }
        self._reports, its = os.pipe()
        try:
            parent().start(request, [*streams, its])
        finally:
            os.close(its)
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        (self.pid,) = STARTED.unpack(self._report(STARTED.size))
        self._child_created = True

    def _report(self, size: int) -> bytes:
        report = os.read(self._reports, size)
        if len(report) < size:
            raise RuntimeError("the warm parent is gone, and nobody knows of its processes")
        return report

    def _has_ended(self, milliseconds: float | None) -> bool:
        poll = select.poll()
        poll.register(self._reports, select.POLLIN)
        if not poll.poll(milliseconds):
            return False
        status, user, system = ENDED.unpack(self._report(ENDED.size))
        self.processor_s = user + system
        WarmPopen.all_s += user + system
        self.returncode = os.waitstatus_to_exitcode(status)
        if not self.watched:
            self.close_reports()
        return True

    def _internal_poll(self, *_: object, **__: object) -> int | None:
        if self.returncode is None and self._reports >= 0:
            self._has_ended(0)
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        milliseconds = None if timeout is None else timeout * 1_000
        if self.returncode is None and not self._has_ended(milliseconds):
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode


def _ends(pipes: Sequence[int]) -> tuple[int, int, int]:
    """Return the ends of the child, of both ends of three pipes."""
    stdin, _, _, stdout, _, stderr = pipes
    return stdin, stdout, stderr


class _Transport(BaseSubprocessTransport):
    """As asyncio's own on Unix, but of a process of the warm parent."""

    def _start(
        self,
        args: Any,  # noqa: ANN401 - of the base class
        shell: bool,
        stdin: Any,  # noqa: ANN401
        stdout: Any,  # noqa: ANN401
        stderr: Any,  # noqa: ANN401
        bufsize: int,
        **options: Any,  # noqa: ANN401 - of Popen
    ) -> None:
        its = ours = None
        if stdin == subprocess.PIPE:
            its, ours = (
                socket.socketpair()
            )  # of a pipe, the end for writing does not tell of a close
            stdin = its
        try:
            process = WarmPopen(args, stdin=stdin, stdout=stdout, stderr=stderr, **options)
        finally:
            if its is not None:
                its.close()
        if ours is not None:
            process.stdin = open(ours.detach(), "wb", buffering=bufsize)  # noqa: PTH123, SIM115
        process.watched = True
        self._proc = process
        self._loop.add_reader(process.fileno(), self._over, self._loop, process)

    def _over(self, loop: asyncio.AbstractEventLoop, process: WarmPopen) -> None:
        loop.remove_reader(process.fileno())
        code = process.poll()
        process.close_reports()
        assert code is not None
        self._process_exited(code)


# Only the child can make a terminal its own controlling one.
_AT_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)


async def create_subprocess_exec(
    *command: str,
    cwd: str | Path,
    env: Mapping[str, str],
    terminal: bool = False,
    limit: int = STREAM_LIMIT,
    **options: Any,  # noqa: ANN401 - of asyncio's function
) -> Process:
    """As asyncio's function of this name. ``terminal``: stdin becomes the controlling terminal."""
    if _parent is None:  # which takes two seconds to begin
        await asyncio.to_thread(why_cold, command, str(cwd), env)
    if why_cold(command, str(cwd), env):
        if terminal:
            command = (sys.executable, "-c", _AT_TERMINAL, *command)
        return await asyncio.create_subprocess_exec(
            *command, cwd=cwd, env=env, limit=limit, **options
        )
    loop = asyncio.get_running_loop()
    protocol = SubprocessStreamProtocol(limit=limit, loop=loop)
    ready: asyncio.Future[None] = loop.create_future()
    streams: dict[str, Any] = {
        name: options.pop(name, None) for name in ("stdin", "stdout", "stderr")
    }
    own = {"cwd": cwd, "env": env, "terminal": terminal, **options}
    transport = _Transport(
        loop, protocol, command, False, **streams, bufsize=0, waiter=ready, **own
    )
    try:
        await ready
    except BaseException:
        transport.close()
        await transport._wait()
        raise
    return Process(transport, protocol, loop)


def start(
    command: Sequence[str],
    *,
    cwd: str | Path,
    env: Mapping[str, str],
    **options: Any,  # noqa: ANN401 - of Popen
) -> subprocess.Popen[Any]:
    """As subprocess.Popen. What starts anew has a parent of its own, if it needs one."""
    if why_cold(command, str(cwd), env):
        own = {name: value for name, value in env.items() if name != SHARED}
        return subprocess.Popen(command, cwd=cwd, env=own, **options)
    return WarmPopen(command, cwd=cwd, env=env, **options)


def run(
    command: Sequence[str],
    *,
    cwd: str | Path,
    env: Mapping[str, str],
    input: str | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """As subprocess.run, with text and ``capture_output``."""
    pipe = subprocess.PIPE
    given = subprocess.DEVNULL if input is None else pipe
    options: Any = {"stdin": given, "stdout": pipe, "stderr": pipe, "text": True}
    with start(command, cwd=cwd, env=env, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)
