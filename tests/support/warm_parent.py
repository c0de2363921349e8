"""The warm parent: it has imported what Vixio's programs import, and forks itself for each of them.

``tests/support/warm.py`` starts it and says which programs it may become. It has one thread when it
forks, and ends with the process that started it: the end of the socket between them is its own.
Other processes may share it, by an address that it listens on: the schedule's parts.

A fork is made as like a new process as can be. What stays different: all forks of one parent hash
strings with the same secret, modules are loaded that the program has not imported, and at its end
its objects are not taken apart.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import random
import resource
import runpy
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Final

LENGTH: Final = struct.Struct("=I")
STARTED: Final = struct.Struct("=i")
"""The process, as soon as there is one."""

ENDED: Final = struct.Struct("=idd")
"""Its wait status, and the seconds of processor that it has used: its own and the system's.

With those of the programs that it had started here, as with those of its children.
"""

PEER: Final = struct.Struct("=3i")
"""Process, user and group at the other end of a socket (SO_PEERCRED, unix(7))."""

PRELOADED: Final = (
    # Of Vixio: what takes it long to import, in a server and in the commands beside it.
    "vixio.web.api.app",
    "vixio.cli.banner",
    "vixio.cli.commands",
    "vixio.composition.registry",
    "vixio.data.database.migrate",
    "vixio.telemetry.metrics.exposition",
    "vixio.telemetry.metrics.turns",
    "vixio.language.phrasebook.stored",
    "vixio.providers.espeak.provider",
    "vixio.providers.openai_agent.models",
    "vixio.providers.openai_agent.provider",
    "vixio.providers.pocketsphinx.provider",
    "vixio.providers.silero_vad.provider",
    "vixio.server",
    "vixio.cli.setup.steps",
    "vixio.core.tools.schemas",
    # Of others, what is imported later than the module that needs it.
    "agents",
    "fastapi",
    "mcp.client.stdio",
    "mcp.server.mcpserver",
    "numpy.random",
    "onnxruntime",
    "pydantic.v1",
    "uvicorn.protocols.http.h11_impl",
    "yaml",
)

BY_THE_LOADER: Final = ("PYTHON", "LC_", "LD_", "GLIBC_", "MALLOC_", "OMP_", "KMP_", "GOTO_")
IN_LIBRARIES: Final = ("OPENBLAS_", "BLIS_", "MKL_", "ORT_", "OPENSSL_", "LANG")
"""How the names of variables begin that are read at the start or while loading, but not by Python's
code, which is watched. (``LANG`` and ``LANGUAGE``.)"""


@dataclass(frozen=True)
class Request:
    """A program: the words behind the interpreter's name, and what it is given."""

    words: list[str]
    directory: str
    environment: dict[str, str]
    umask: int
    limits: dict[int, tuple[int, int]]
    new_session: bool
    new_group: bool
    terminal: bool
    """Whether its standard input becomes its controlling terminal."""


def limits() -> dict[int, tuple[int, int]]:
    """Return the limits of this process, by their number."""
    kinds = {value for name, value in vars(resource).items() if name.startswith("RLIMIT_")}
    return {kind: resource.getrlimit(kind) for kind in kinds}


def receive(source: socket.socket, size: int) -> bytes:
    """Return ``size`` bytes, or nothing at the end."""
    parts: list[bytes] = []
    while size and (part := source.recv(size)):
        parts.append(part)
        size -= len(part)
    return b"" if size else b"".join(parts)


def import_all() -> dict[str, Any]:
    """Import the modules. Return which variables that has read, and which it has set."""
    import_module("wsgiref.handlers")  # it copies all variables, for programs of a web server
    plain = os._Environ.__getitem__
    before = dict(os.environ)
    read: set[str] = set()

    def watched(self: os._Environ[str], name: str) -> str:
        read.add(name)
        return plain(self, name)

    os._Environ.__getitem__ = watched  # type: ignore[method-assign, assignment]
    try:
        for name in PRELOADED:
            import_module(name)
    finally:
        os._Environ.__getitem__ = plain  # type: ignore[method-assign]
    # sysconfig looks for the user's own packages there, which a virtual environment leaves out.
    read.discard("HOME")
    added = {name: value for name, value in os.environ.items() if before.get(name) != value}
    # What a module sets for those after it is no reading of what it was given.
    return {"read": {name: os.environ.get(name) for name in sorted(read)}, "added": added}


def threads() -> int:
    """Return how many threads this process has, those of libraries too."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux: what Python knows
        return threading.active_count()
    return next(int(line.split()[1]) for line in lines if line.startswith("Threads:"))


@dataclass
class Program:
    """One that runs. ``report``: a pipe to who asked for it, which is the process ``asker``."""

    report: int
    asker: int
    used_s: float = 0.0
    """By the programs that it has asked for, and that have ended."""


class Parent:
    """Takes requests from its owner and those who share it, forks, and reports the ends.

    ``hello``: what each of them is told first.
    """

    def __init__(self, owner: socket.socket, listener: socket.socket | None, hello: bytes) -> None:
        self._owner, self._listener, self._hello = owner, listener, hello
        self._clients: dict[int, socket.socket] = {}
        self._programs: dict[int, Program] = {}
        self._own_handlers = {
            number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGCHLD)
        }
        self._own_mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        # Ctrl-C at the terminal reaches this process too, and the tests still end their programs.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._woken, self._wake = os.pipe()
        for each in (self._woken, self._wake):
            os.set_blocking(each, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)
        if listener is not None:
            self._poll.register(listener, select.POLLIN)
        self._add(owner)

    def _add(self, client: socket.socket) -> None:
        self._clients[client.fileno()] = client
        self._poll.register(client, select.POLLIN)
        with suppress(OSError):  # it has gone; the end of its socket says so, too
            client.sendall(LENGTH.pack(len(self._hello)) + self._hello)

    def _remove(self, client: socket.socket) -> None:
        self._poll.unregister(client)
        del self._clients[client.fileno()]
        client.close()

    def serve(self) -> Request | None:
        """Serve until the owner has ended: None. In a fork: return what it is to become."""
        while True:
            for which in sorted(which for which, _ in self._poll.poll()):
                if which == self._woken:
                    os.read(self._woken, 4_096)
                    self._reap()
                elif self._listener is not None and which == self._listener.fileno():
                    self._add(self._listener.accept()[0])
                elif request := self._requested(self._clients[which]):
                    return request
                elif self._owner.fileno() == -1:
                    return None

    def _requested(self, client: socket.socket) -> Request | None:
        """Serve one client: in a fork, return what it is to become; close it at its end."""
        head, descriptors, _, _ = socket.recv_fds(client, LENGTH.size, 4)
        head += receive(client, LENGTH.size - len(head))
        if len(head) < LENGTH.size:
            self._remove(client)
            return None
        (length,) = LENGTH.unpack(head)
        content = json.loads(receive(client, length))
        content["limits"] = {int(kind): tuple(two) for kind, two in content["limits"]}
        request = Request(**content)
        peer = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
        return request if self._fork(PEER.unpack(peer)[0], *descriptors) else None

    def _fork(self, asker: int, stdin: int, stdout: int, stderr: int, report: int) -> bool:
        """Return whether this is the fork. No signal reaches it before its handlers are its own."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        child = os.fork()
        if child == 0:
            with suppress(OSError):  # who has asked has ended, or has left this session
                os.setpgid(0, os.getpgid(asker))
            signal.set_wakeup_fd(-1)
            for number, handler in self._own_handlers.items():
                signal.signal(number, handler)
            # So that no object closes another file of its number.
            for mine in (*self._clients.values(), self._listener):
                if mine is not None:
                    mine.detach()
            for own, given in enumerate((stdin, stdout, stderr)):
                os.dup2(given, own)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            return True
        signal.pthread_sigmask(signal.SIG_SETMASK, self._own_mask)
        for each in (stdin, stdout, stderr):
            os.close(each)
        self._programs[child] = Program(report, asker)
        self._report(report, STARTED.pack(child))
        return False

    def unmask(self) -> None:
        """Let signals reach the fork."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self._own_mask)

    def _reap(self) -> None:
        while self._programs:
            child, status, usage = os.wait4(-1, os.WNOHANG)
            if child == 0:
                return
            its = self._programs.pop(child)
            user_s = usage.ru_utime + its.used_s
            if its.asker in self._programs:
                self._programs[its.asker].used_s += user_s + usage.ru_stime
            self._report(its.report, ENDED.pack(status, user_s, usage.ru_stime))
            os.close(its.report)

    def _report(self, where: int, what: bytes) -> None:
        with suppress(BrokenPipeError):  # nobody asks for it any more
            os.write(where, what)


def standard_streams() -> None:
    """Make the three streams anew: what they are connected to decides how they buffer."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        former = getattr(sys, f"__{name}__")
        buffer: Any = open(number, f"{mode}b", closefd=False)  # noqa: SIM115 - it stays open
        buffer.raw.name = f"<{name}>"
        stream = io.TextIOWrapper(
            buffer,
            encoding=former.encoding,
            errors=former.errors,
            newline="\n" if mode == "w" else None,
            line_buffering=name == "stderr" or buffer.isatty(),
        )
        stream.mode = mode  # type: ignore[misc]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def become(request: Request, added: dict[str, str], own: list[str]) -> Callable[[], object]:
    """Take over what the request gives; return the program, to be called."""
    os.chdir(request.directory)
    os.umask(request.umask)
    if request.new_session:
        os.setsid()
    elif request.new_group:
        os.setpgid(0, 0)
    if request.terminal:
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for kind, values in request.limits.items():
        if resource.getrlimit(kind) != values:
            resource.setrlimit(kind, values)
    own_path(own, request.environment)
    os.environ.clear()
    os.environ.update(request.environment)
    for name, value in added.items():
        if not os.environ.get(name):  # the modules that set it are not imported once more
            os.environ[name] = value
    time.tzset()
    random.seed()
    sys.modules["numpy.random"].seed()
    standard_streams()
    sys.orig_argv[:] = [sys.executable, *request.words]
    return program(request.words)


def own_path(own: list[str], environment: dict[str, str]) -> None:
    """Put the folders of the program's PYTHONPATH where those of this process's were, ``own``."""
    assert sys.path[: len(own)] == own
    first = path_entries(environment)
    sys.path[:] = [*first, *(each for each in sys.path[len(own) :] if each not in first)]


def path_entries(environment: Mapping[str, str]) -> list[str]:
    """Return the folders of PYTHONPATH, as Python puts them into its path."""
    value = environment.get("PYTHONPATH", "")
    return [str(Path(each).absolute()) for each in value.split(os.pathsep)] if value else []


def program(words: list[str]) -> Callable[[], object]:
    """Return what the interpreter does with the words behind its name: -m, -c, or a file."""
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    first, *rest = words
    if first == "-m":
        module, *rest = rest
        sys.argv = ["-m", *rest]
        sys.path.insert(0, str(Path.cwd()))
        run_module: Callable[[str], object] = runpy._run_module_as_main  # type: ignore[attr-defined]
        return lambda: run_module(module)
    if first == "-c":
        text, *rest = rest
        sys.argv = ["-c", *rest]
        sys.path.insert(0, "")
        return lambda: exec(compile(text, "<string>", "exec"), main.__dict__)  # noqa: S102
    sys.argv = words
    sys.path.insert(0, str(Path(first).resolve().parent))
    main.__file__ = str(Path(first).absolute())
    main.__loader__ = SourceFileLoader("__main__", first)
    with io.open_code(first) as file:
        source = file.read()
    return lambda: exec(compile(source, first, "exec"), main.__dict__)  # noqa: S102


def status_of(program: Callable[[], object]) -> int:
    """Run the program as the interpreter does; return its exit status, -SIGINT for Ctrl-C."""
    try:
        program()
    except SystemExit as asked:
        if asked.code is None or isinstance(asked.code, int):
            return (asked.code or 0) & 0xFF
        print(asked.code, file=sys.stderr)  # noqa: T201 - as the interpreter does
        return 1
    except BaseException as error:  # noqa: BLE001 - whatever it is, the interpreter shows it
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def end(status: int) -> None:
    """End this process as the interpreter ends, except that objects are not taken apart."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        print(f"Exception ignored in: {sys.stdout!r}\n{error!r}", file=sys.stderr)  # noqa: T201
        status = 120
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    if status == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status)


def forget_the_way_here() -> None:
    """Leave the import path and the modules as they are before a program's own first step."""
    del sys.path[0]  # the working directory of this process
    for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
        del sys.modules[name]


def main(descriptor: int, address: str = "") -> None:
    """Serve until the owner ends; return only in a fork, at the end of its program."""
    owner = socket.socket(fileno=descriptor)
    listener = None
    if address:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen()
    forget_the_way_here()
    own = path_entries(os.environ)
    environment = dict(os.environ)
    found = import_all()
    # A library's threads end at the first fork (OpenBLAS), and begin again where they are needed.
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    modules = sorted({name.partition(".")[0] for name in sys.modules})
    about = {"threads": threads(), "path": sys.path, "modules": modules, "started": environment}
    # What the forks share is looked through by none of their collections, and copied by none.
    gc.collect()
    gc.freeze()
    parent = Parent(owner, listener, json.dumps({**found, **about}).encode())
    request = parent.serve()
    if request is None:
        os._exit(0)
    run = become(request, found["added"], own)
    parent.unmask()
    end(status_of(run))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
