"""The warm parent: it has imported what Vixio's programs import, and forks itself for each of them.

``tests/support/warm.py`` starts it and says which programs it may become. It has one thread when it
forks, and ends with the process that started it: the end of the socket between them is its own.

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
"""Its wait status, and the seconds of processor that it has used: its own and the system's."""

PRELOADED: Final = (
    # Of Vixio: what takes it long to import, in a server and in the commands beside it.
    "vixio.api.app",
    "vixio.cli.banner",
    "vixio.cli.commands",
    "vixio.composition.registry",
    "vixio.database.migrate",
    "vixio.metrics.exposition",
    "vixio.metrics.turns",
    "vixio.phrasebook.stored",
    "vixio.providers.espeak.provider",
    "vixio.providers.openai_agent.models",
    "vixio.providers.openai_agent.provider",
    "vixio.providers.pocketsphinx.provider",
    "vixio.providers.silero_vad.provider",
    "vixio.server",
    "vixio.setup.steps",
    "vixio.tools.schemas",
    # Of others, what is imported later than the module that needs it.
    "agents",
    "aiosqlite",
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


class Parent:
    """Takes requests from ``control``, forks, and reports the ends of the processes."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._reports: dict[int, int] = {}
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

    def serve(self) -> Request | None:
        """Serve until the owner has ended: None. In a fork: return what it is to become."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while True:
            ready = {which for which, _ in poll.poll()}
            if self._woken in ready:
                os.read(self._woken, 4_096)
                self._reap()
            if self._control.fileno() in ready:
                head, descriptors, _, _ = socket.recv_fds(self._control, LENGTH.size, 4)
                head += receive(self._control, LENGTH.size - len(head))
                if len(head) < LENGTH.size:
                    return None
                (length,) = LENGTH.unpack(head)
                content = json.loads(receive(self._control, length))
                content["limits"] = {int(kind): tuple(two) for kind, two in content["limits"]}
                request = Request(**content)
                if self._fork(*descriptors):
                    return request

    def _fork(self, stdin: int, stdout: int, stderr: int, report: int) -> bool:
        """Return whether this is the fork. No signal reaches it before its handlers are its own."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        child = os.fork()
        if child == 0:
            signal.set_wakeup_fd(-1)
            for number, handler in self._own_handlers.items():
                signal.signal(number, handler)
            self._control.detach()  # so that the object does not close another file of this number
            for own, given in enumerate((stdin, stdout, stderr)):
                os.dup2(given, own)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            return True
        signal.pthread_sigmask(signal.SIG_SETMASK, self._own_mask)
        for each in (stdin, stdout, stderr):
            os.close(each)
        self._reports[child] = report
        self._report(report, STARTED.pack(child))
        return False

    def unmask(self) -> None:
        """Let signals reach the fork."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self._own_mask)

    def _reap(self) -> None:
        while self._reports:
            child, status, usage = os.wait4(-1, os.WNOHANG)
            if child == 0:
                return
            report = self._reports.pop(child)
            self._report(report, ENDED.pack(status, usage.ru_utime, usage.ru_stime))
            os.close(report)

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


def main(descriptor: int) -> None:
    """Serve until the owner ends; return only in a fork, at the end of its program."""
    control = socket.socket(fileno=descriptor)
    parent = Parent(control)
    forget_the_way_here()
    own = path_entries(os.environ)
    found = import_all()
    # A library's threads end at the first fork (OpenBLAS), and begin again where they are needed.
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    modules = sorted({name.partition(".")[0] for name in sys.modules})
    about = {**found, "threads": threads(), "path": sys.path, "modules": modules}
    hello = json.dumps(about).encode()
    control.sendall(LENGTH.pack(len(hello)) + hello)
    # What the forks share is looked through by none of their collections, and copied by none.
    gc.collect()
    gc.freeze()
    request = parent.serve()
    if request is None:
        os._exit(0)
    run = become(request, found["added"], own)
    parent.unmask()
    end(status_of(run))


if __name__ == "__main__":
    main(int(sys.argv[1]))
