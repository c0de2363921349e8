"""A program of the warm parent is as one that begins with Python, which each test starts too."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.person import at_terminal
from tests.e2e.processes import running
from tests.support import warm
from tests.support.waiting import until
from tests.support.warm import WarmPopen, kept, parent, why_cold
from tests.support.warm_parent import path_entries

pytestmark = pytest.mark.skipif(not warm.SUPPORTED, reason="all programs begin with Python here")

VIXIO = Path(sys.executable).with_name("vixio")
BOUND = 60.0

STATE = """
import json, os, resource, signal, sys
if __name__ == "__main__":
    print(json.dumps({
        "argv": sys.argv,
        "orig_argv": sys.orig_argv,
        "path": sys.path,
        "directory": os.getcwd(),
        "main": [
            __name__, globals().get("__file__"), sys.modules["__main__"].__dict__ is globals()
        ],
        "environment": sorted(os.environ),
        "streams": [
            [s.name, s.mode, s.encoding, s.errors, s.newlines, s.line_buffering, s.write_through,
             s.isatty(), s.fileno(), s is own]
            for s, own in (
                (sys.stdin, sys.__stdin__),
                (sys.stdout, sys.__stdout__),
                (sys.stderr, sys.__stderr__),
            )
        ],
        "handlers": {n: str(signal.getsignal(n)) for n in sorted(signal.valid_signals())},
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "wakeup": signal.set_wakeup_fd(-1),
        "umask": os.umask(0),
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
        "descriptors": sorted(os.listdir("/proc/self/fd")),
        "session": os.getsid(0) == os.getpid(),
        "group": os.getpgid(0) == os.getpid(),
        "threads": len(os.listdir("/proc/self/task")),
        "flags": list(sys.flags),
        "tests": sorted(n for n in sys.modules if n.split(".")[0] == "tests"),
    }))
"""

AT_THE_END = """
import atexit, threading, time
atexit.register(print, "second")
threading.Thread(target=lambda: (time.sleep(0.05), print("first"))).start()
"""

GRANDCHILD = """
import subprocess, sys
done = subprocess.run([sys.executable, "-c", "print(input())"], text=True)
sys.exit(done.returncode + 4)
"""


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", code, *words]


def both(
    command: Sequence[str],
    directory: Path,
    more: Mapping[str, str] | None = None,
    *,
    without: str = "",
    **how: Any,  # noqa: ANN401 - of Popen
) -> list[tuple[int, str, str]]:
    """Run ``command`` as a program of the warm parent and as a new one; return what both say."""
    env = {**kept(), **(more or {})}
    env.pop(without, None)
    assert why_cold(command, str(directory), env) is None
    found = []
    for kind in (WarmPopen, subprocess.Popen):
        pipe = subprocess.PIPE
        with kind(
            command, cwd=directory, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True, **how
        ) as process:
            out, err = process.communicate("typed", timeout=BOUND)
        found.append((process.returncode, out, err))
    return found


@pytest.mark.parametrize("kind", ["-c", "-m", "script"])
def test_it_begins_as_a_new_process(tmp_path: Path, kind: str) -> None:
    (tmp_path / "state.py").write_text(STATE, encoding="utf-8")
    first = {"-c": ["-c", STATE], "-m": ["-m", "state"], "script": ["state.py"]}[kind]
    more = {
        "ONLY_HERE": "1",
        "PYTHONPATH": os.pathsep.join([*path_entries(kept()), str(warm.ROOT)]),
    }
    command = [sys.executable, *first, "one", "-m"]
    here, new = both(command, tmp_path, more, without="XDG_STATE_HOME")
    assert new[0] == 0, new
    warm_state, cold_state = json.loads(here[1]), json.loads(new[1])
    # Vixio has switched things off when it was imported, as it does in each program of its own.
    added = set(warm_state.pop("environment")) - set(cold_state.pop("environment"))
    assert added == set(parent().added)
    assert warm_state == cold_state
    assert here[2] == new[2]


def test_what_this_process_has_set_holds_for_it(tmp_path: Path) -> None:
    parent()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = os.umask(0o027)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    try:
        here, new = both(python(STATE), tmp_path, start_new_session=True)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        os.umask(before)
    for _, out, _ in (here, new):
        state = json.loads(out)
        assert state["umask"] == 0o027
        assert state["files"] == [soft - 1, hard]
        assert state["session"]


@pytest.mark.parametrize(
    ("code", "status"),
    {
        "the end": ("print('out')", 0),
        "a status": ("import sys; sys.exit(3)", 3),
        "a large status": ("import sys; sys.exit(259)", 3),
        "a message": ("import sys; print('out'); sys.exit('why')", 1),
        "an error": ("def f():\n    1 / 0\nprint('out')\nf()", 1),
        "a mistake in the text": ("1 +", 1),
        "an own hook": (
            "import sys; sys.excepthook = lambda *e: print(e[1], file=sys.stderr); 1 / 0",
            1,
        ),
        "at the end": (AT_THE_END, 0),
        "a full buffer": ("print('x' * 500_000, end='')", 0),
        "both streams": ("import sys; print('o'); print('e', file=sys.stderr); print('p')", 0),
        "what is typed": ("import sys; print(sys.stdin.read())", 0),
        "a signal": ("import os, signal; print('lost'); os.kill(os.getpid(), signal.SIGKILL)", -9),
        "Ctrl-C": ("import os, signal; print('out'); os.kill(os.getpid(), signal.SIGINT)", -2),
        "a grandchild": (GRANDCHILD, 4),
        "os._exit": ("import os; print('lost'); os._exit(5)", 5),
    }.values(),
)
def test_it_ends_as_a_new_process(tmp_path: Path, code: str, status: int) -> None:
    here, new = both(python(code), tmp_path)
    assert here == new
    assert here[0] == status


@pytest.mark.parametrize("words", [["--version"], ["devices", "--json"], ["nothing"]])
def test_a_command_says_the_same(tmp_path: Path, words: list[str]) -> None:
    here, new = both([str(VIXIO), *words], tmp_path)
    assert here == new


def test_a_module_that_is_not_there(tmp_path: Path) -> None:
    here, new = both([sys.executable, "-m", "nobody.knows.it"], tmp_path)
    assert here == new
    assert here[0] == 1


def test_output_that_nobody_reads(tmp_path: Path) -> None:
    """Python says so with a status of its own."""
    for kind in (WarmPopen, subprocess.Popen):
        reads, writes = os.pipe()
        os.close(reads)
        with kind(
            python("print('out')"),
            cwd=tmp_path,
            env=kept(),
            stdout=writes,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            os.close(writes)
            _, err = process.communicate(timeout=BOUND)
        assert process.returncode == 120
        assert "BrokenPipeError" in err


async def test_two_programs_share_nothing(tmp_path: Path) -> None:
    """Neither the environment and what modules hold, nor random numbers, nor the other's pipes."""
    code = (
        "import json, os, random, sys, numpy, vixio\n"
        "found = [os.environ.get('MINE'), getattr(vixio, 'mark', None), random.random(),\n"
        "    numpy.random.random(), sorted(os.listdir('/proc/self/fd'))]\n"
        "vixio.mark = os.environ['ANOTHER'] = 'x'\n"
        "print(json.dumps(found), flush=True)\n"
        "sys.stdin.read()"
    )
    pipe = asyncio.subprocess.PIPE
    processes = [
        await warm.create_subprocess_exec(
            *python(code), cwd=tmp_path, env={**kept(), "MINE": mine}, stdin=pipe, stdout=pipe
        )
        for mine in ("one", "other")
    ]
    async with asyncio.timeout(BOUND):
        found = []
        for process in processes:
            assert process.stdout is not None
            found.append(json.loads(await process.stdout.readline()))
        # The end of one's standard input is no other's to hold open.
        for process in processes:
            await process.communicate(b"")
            assert process.returncode == 0
    assert [each[:2] for each in found] == [["one", None], ["other", None]]
    assert found[0][2] != found[1][2]
    assert found[0][3] != found[1][3]
    assert [each[4] for each in found] == [["0", "1", "2", "3"]] * 2  # 3: the folder that is listed


async def test_signals_reach_it(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGHUP, lambda *_: os.write(1, b'hung up\\n'))\n"
        "try:\n    print('ready', flush=True)\n    while True: time.sleep(0.1)\n"
        "except KeyboardInterrupt:\n    print('stopped', flush=True); sys.stdin.read(); raise\n"
    )
    # Not signal.pause(): a signal that comes just before it is handled only with the next one.
    async with running(python(code), tmp_path) as program:
        assert isinstance(program.process._transport, warm._Transport)  # type: ignore[attr-defined]
        await program.line("ready")
        program.process.send_signal(signal.SIGHUP)
        await program.line("hung up")
        await program.stop(signal.SIGINT)
        assert program.process.returncode == -signal.SIGINT
    assert "stopped" in program.out[-1]
    assert "KeyboardInterrupt" in "".join(program.err)

    async with running(
        python("import signal; print(1, flush=True); signal.pause()"), tmp_path
    ) as it:
        await it.line("1")
    assert it.process.returncode == -signal.SIGKILL


async def test_one_that_is_asked_for_its_status_while_it_ends(tmp_path: Path) -> None:
    """A signal for a process that has ended is nobody's, and its status is known all the same."""
    async with running(python("print('out', flush=True)"), tmp_path) as program:
        popen: WarmPopen = program.process._transport.get_extra_info("subprocess")  # type: ignore[attr-defined]
        popen.wait(BOUND)  # before the event loop hears of it
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "kill", lambda *_: pytest.fail("a process of this number"))
            program.process.send_signal(signal.SIGTERM)
        assert await program.process.wait() == 0


async def test_a_terminal_of_its_own(tmp_path: Path) -> None:
    code = (
        "import getpass, os, sys; print(getpass.getpass('Word: '));"
        "print(os.getsid(0) == os.getpid(), sys.stdout.isatty(), sys.stdout.line_buffering,"
        "os.tcgetpgrp(0) == os.getpgrp())"
    )
    async with at_terminal(
        Path(sys.executable), "-c", code, directory=tmp_path, environment=kept()
    ) as person:
        await person.answer("Word", "hidden")
        await person.expect("hidden\n")
        await person.expect("True True True True")
        assert await person.left() == 0
    assert person.seen.count("hidden") == 1, "what is typed at a password is not shown"


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"PYTHONUNBUFFERED": "1"}, "PYTHONUNBUFFERED"),
        ({"LOGURU_LEVEL": "ERROR"}, "LOGURU_LEVEL"),  # read by code of Python while it is imported
        ({"OMP_NUM_THREADS": "1"}, "OMP_NUM_THREADS"),
        ({"ORT_DISABLE_TELEMETRY": "0"}, "ORT_DISABLE_TELEMETRY"),
        ({"LANG": "de_DE.UTF-8"}, "LANG"),
    ],
)
def test_what_is_read_early_and_changed_means_a_new_process(
    tmp_path: Path, changed: dict[str, str], name: str
) -> None:
    env = {**kept(), **changed}
    assert why_cold(python("1"), str(tmp_path), env) == f"the variable {name}"
    with warm.start(python("1"), cwd=tmp_path, env=env) as process:
        assert not isinstance(process, WarmPopen)
    assert why_cold(python("1"), str(tmp_path), {**kept(), "ORT_DISABLE_TELEMETRY": "1"}) is None


def test_a_folder_of_modules_may_be_added(tmp_path: Path) -> None:
    """But none with a module that the parent has imported from elsewhere."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a_module_of_this_test.py").write_text("print('imported')", encoding="utf-8")
    path = {"PYTHONPATH": os.pathsep.join([str(folder), *path_entries(kept())])}
    here, new = both(python("import a_module_of_this_test"), tmp_path, path)
    assert here == new == (0, "imported\n", "")
    (folder / "vixio.py").touch()
    reason = why_cold(python("1"), str(tmp_path), {**kept(), **path})
    assert reason == "the variable PYTHONPATH"


@pytest.mark.parametrize(
    "command",
    [
        ["true"],
        [sys.executable, "-I", "-c", "1"],
        [sys.executable, "-m"],
        [sys.executable],
        ["no/n"],
    ],
)
def test_other_programs_are_new_processes(tmp_path: Path, command: list[str]) -> None:
    assert why_cold(command, str(tmp_path), kept()) == "the command"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        warm.run(python("1"), cwd=tmp_path / "none", env=kept())


def test_to_be_run_and_waited_for(tmp_path: Path) -> None:
    done = warm.run(python("print(input())"), cwd=tmp_path, env=kept(), input="word\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "word\n", "")
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run(python("import time; time.sleep(60)"), cwd=tmp_path, env=kept(), timeout=0.1)


OWNER = """
import os, subprocess, sys
from tests.support import warm
code = "import signal; print(1, flush=True); signal.pause()"
program = warm.WarmPopen([sys.executable, "-c", code], cwd="/", env=warm.kept(), stdout=-1)
program.stdout.readline()
print(warm.parent().process.pid, program.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("killed", [False, True])
async def test_the_parent_ends_with_its_owner(tmp_path: Path, killed: bool) -> None:
    """Its programs go on, as they do after the end of a process that has started them itself."""
    pipe = asyncio.subprocess.PIPE
    owner = await asyncio.create_subprocess_exec(
        *python(OWNER), cwd=warm.ROOT, env=kept(), stdin=pipe, stdout=pipe
    )
    assert owner.stdout is not None
    async with asyncio.timeout(BOUND):
        parent_pid, program = map(int, (await owner.stdout.readline()).split())
    try:
        if killed:
            owner.kill()
        await owner.communicate(b"")
        await until(lambda: not alive(parent_pid), what="the end of the parent")
        assert alive(program)
    finally:
        os.kill(program, signal.SIGKILL)


INNER = """
import os, time
while time.process_time() < 0.5:
    pass
print(os.getpgid(0))
"""

MIDDLE = f"""
import os, sys
from tests.support import warm
done = warm.run([sys.executable, "-c", {INNER!r}], cwd=os.getcwd(), env=os.environ)
print(warm.parent().process is None, int(done.stdout) == os.getpgid(0) == os.getpid())
"""

SHARING = f"""
import os, subprocess, sys
from pathlib import Path
from tests.support import warm
with warm.share(Path(sys.argv[1])):
    command = [sys.executable, "-c", {MIDDLE!r}]
    how = {{"cwd": os.getcwd(), "env": dict(os.environ), "process_group": 0}}
    with warm.start(command, stdout=subprocess.PIPE, text=True, **how) as program:
        print(program.communicate()[0].strip(), program.processor_s >= 0.5)
"""


def test_a_parent_is_shared_by_its_programs(tmp_path: Path) -> None:
    """Theirs belong to their group, which is ended as one, and to what they have used."""
    done = subprocess.run(
        python(SHARING, str(tmp_path / "address")),
        cwd=warm.ROOT,
        env=kept(),
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["True", "True", "True"], "")


def alive(pid: int) -> bool:
    """Return whether a process runs; one that nobody waits for has ended too."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
