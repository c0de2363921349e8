"""The command line: what it imports, which settings it reads, how it fails, starts and stops."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support import warm
from vixio import __version__
from vixio.cli.commands import main
from vixio.cli.config import BUILT_IN, choose_config
from vixio.cli.scaffold import template
from vixio.core.errors import ConfigError, ProviderUnavailable

ROOT = Path(__file__).resolve().parents[2]

HEAVY = ("numpy", "onnxruntime", "agents", "openai", "pydantic", "yaml", "loguru", "websockets")


def environment(**more: str) -> dict[str, str]:
    kept = {key: value for key, value in warm.around().items() if key != "VIXIO_CONFIG"}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def python(code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return warm.run(command, cwd=cwd, env=environment(), timeout=30)


def new_python(code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """As ``python``, in a process that has imported nothing."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=30,
        cwd=cwd,
        env=environment(),
        check=False,
    )


@pytest.fixture(autouse=True)
def no_config_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIXIO_CONFIG", raising=False)


# ── commands of other modules ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("command", [["bench", "speech"], ["bench", "load"], ["demo"]])
def test_their_options_are_theirs(command: list[str]) -> None:
    shown = CliRunner().invoke(main, [*command, "--help"])
    assert (shown.exit_code, shown.exception and str(shown.exception)) in {(0, None), (0, "0")}
    assert "vixio " + " ".join(command) in shown.output
    wrong = CliRunner().invoke(main, [*command, "--no-such-option"])
    assert wrong.exit_code == 2


# ── light ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["serve", "--help"], ["say", "-h"], ["init", "d"]]
)
@pytest.mark.slow
def test_nothing_heavy_is_imported(arguments: list[str], tmp_path: Path) -> None:
    code = (
        "import sys\nfrom vixio.cli.commands import main\n"
        "main(sys.argv[1:], standalone_mode=False)\n"
        f"print('heavy:', sorted(set(sys.modules) & set({HEAVY!r})))"
    )
    done = new_python(code, *arguments, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "heavy: []", done.stderr


def test_help_names_every_command() -> None:
    shown = CliRunner().invoke(main, ["--help"])
    assert shown.exit_code == 0
    for command in ("serve", "check", "say", "transcribe", "init", "demo", "bench"):
        assert f"\n  {command} " in shown.output


def test_version() -> None:
    shown = CliRunner().invoke(main, ["--version"])
    assert shown.output == f"vixio {__version__}\n"


# ── which settings ───────────────────────────────────────────────────────────────────────────


def test_which_settings_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_config(None) == (None, BUILT_IN)
    Path("vixio.yaml").touch()
    assert choose_config(None) == (Path("vixio.yaml"), "./vixio.yaml")
    Path("v.yaml").touch()
    monkeypatch.setenv("VIXIO_CONFIG", "v.yaml")
    assert choose_config(None) == (Path("v.yaml"), "v.yaml, from $VIXIO_CONFIG")
    assert choose_config(Path("my.yaml")) == (Path("my.yaml"), "my.yaml")


# ── failing ──────────────────────────────────────────────────────────────────────────────────


def test_a_mistake_is_one_line_and_exit_status_2() -> None:
    Path("vixio.yaml").write_text("server:\n  prt: 1\n")
    done = CliRunner().invoke(main, ["serve"])
    assert done.exit_code == 2
    assert done.stderr == (
        "vixio: vixio.yaml:2: server.prt: there is no such key, did you mean 'port'?\n"
    )
    assert done.stdout == ""


@pytest.mark.slow
def test_a_mistake_in_a_fresh_process(tmp_path: Path) -> None:
    done = python(
        "from vixio.cli.commands import main; main()",
        "serve",
        "--config",
        "none.yaml",
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert (
        done.stderr == "vixio: none.yaml: no such file; `vixio init DIR` writes one to start from\n"
    )


@pytest.mark.parametrize("workers", ["many", "0", "65", "-1", "1.5", ""])
def test_a_wrong_number_of_workers_is_one_line(workers: str) -> None:
    done = CliRunner().invoke(main, ["serve", "--workers", workers])
    assert done.exit_code == 2
    assert done.stderr == (
        "vixio: command line: workers: expected a number from 1 to 64, or auto, "
        f"found {workers!r}\n"
    )


def test_a_mistake_on_the_command_line() -> None:
    assert CliRunner().invoke(main, ["serve", "--port", "70000"]).exit_code == 2
    done = CliRunner().invoke(main, ["serve", "--port", "8003"])
    assert done.exit_code == 2
    assert done.stderr.startswith("vixio: command line: server: port and http_port must differ")


def test_errors_in_a_group_are_told_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        inner = ExceptionGroup("i", [ProviderUnavailable("vad.x", "install y\nplease")])
        raise ExceptionGroup("o", [ConfigError("a"), inner])

    monkeypatch.setattr("vixio.cli.scaffold.write_scaffold", fail)
    done = CliRunner().invoke(main, ["init", "d"])
    assert done.exit_code == 2
    assert done.stderr == "vixio: a\nvixio: vad.x: install y please\n"


def test_a_defect_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ExceptionGroup("o", [ConfigError("a"), ZeroDivisionError()])

    monkeypatch.setattr("vixio.cli.scaffold.write_scaffold", fail)
    done = CliRunner().invoke(main, ["init", "d"])
    assert isinstance(done.exception, ExceptionGroup)


# ── init ─────────────────────────────────────────────────────────────────────────────────────


def test_init_writes_once_and_overwrites_only_when_told() -> None:
    runner = CliRunner()
    done = runner.invoke(main, ["init", "a/b"])
    assert done.exit_code == 0
    assert "vixio check --config a/b/vixio.yaml" in done.output
    written = Path("a/b/vixio.yaml")
    assert written.read_text(encoding="utf-8") == template("vixio.yaml")
    assert "OPENAI_API_KEY" in Path("a/b/.env.example").read_text(encoding="utf-8")

    written.write_text("mine")
    done = runner.invoke(main, ["init", "a/b"])
    assert done.exit_code == 2
    assert done.stderr == (
        "vixio: a/b/vixio.yaml, a/b/.env.example: there already; --force overwrites\n"
    )
    assert written.read_text() == "mine"
    assert runner.invoke(main, ["init", "a/b", "--force"]).exit_code == 0
    assert written.read_text(encoding="utf-8") == template("vixio.yaml")


def test_init_where_nothing_can_be_written() -> None:
    Path("file").touch()
    done = CliRunner().invoke(main, ["init", "file/below"])
    assert done.exit_code == 2
    assert done.stderr == "vixio: file/below: Not a directory\n"


# ── passing on ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("command", "module"),
    [(["demo"], "vixio.cli.demo"), (["bench", "speech"], "vixio_bench.speech")],
)
@pytest.mark.slow
def test_arguments_are_passed_on(command: list[str], module: str, tmp_path: Path) -> None:
    package, _, name = module.rpartition(".")
    code = (
        "import sys, types\n"
        f"import {package} as package\n"
        f"stand_in = package.{name} = types.ModuleType({module!r})\n"
        "stand_in.main = lambda arguments: print(arguments) or 3\n"
        f"sys.modules[{module!r}] = stand_in\n"
        "from vixio.cli.commands import main\nmain()"
    )
    done = python(code, *command, "--wav", "x y.wav", "--help", "-v", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert done.stdout == "['--wav', 'x y.wav', '--help', '-v']\n"


def test_a_missing_simulated_device_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def needs_it(arguments: list[str]) -> int:
        raise ModuleNotFoundError("No module", name="firmware_test_client")

    monkeypatch.setattr("vixio.cli.demo.main", needs_it)
    monkeypatch.delitem(sys.modules, "vixio.cli.talk.holding", raising=False)
    monkeypatch.setitem(sys.modules, "firmware_test_client", None)
    for command in ("demo", "talk"):
        done = CliRunner().invoke(main, [command])
        assert done.exit_code == 2
        assert done.stderr.endswith("pip install ./firmware-test-client\n")


def test_commands_of_other_packages_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.search(r"^  bench +Measure how well it works", _help(), re.MULTILINE)
    monkeypatch.setattr("vixio.cli.commands.entry_points", lambda **group: EntryPoints())
    assert "bench" not in _help()
    done = CliRunner().invoke(main, ["bench", "load"])
    assert done.exit_code == 2
    assert done.stderr.startswith("vixio: the benchmarks are a package of their own")


def _help() -> str:
    return CliRunner().invoke(main, ["--help"]).output


# ── serving ──────────────────────────────────────────────────────────────────────────────────

SERVE = """
import asyncio, sys, types
from loguru import logger

async def serve(settings, source, stop, load):
    print(settings.server.host, settings.server.port, settings.server.http_port, source, flush=True)
    await stop.wait()
    logger.bind(hang="{hang}").info("stopping")
    print("stopping", flush=True)
    if "{hang}":
        import time
        time.sleep(600)

stand_in = types.ModuleType("vixio.server")
stand_in.serve = serve
sys.modules["vixio.server"] = stand_in
import vixio
vixio.server = stand_in
from vixio.cli.commands import main
main()
"""


@contextmanager
def serving(cwd: Path, *arguments: str, hang: str = "") -> Iterator[subprocess.Popen[str]]:
    process = warm.start(
        [sys.executable, "-c", SERVE.replace("{hang}", hang), "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=environment(),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_a_signal_stops_it_in_order(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "vixio.yaml").write_text("server: {port: 1, http_port: 2}\nlogging: {json: true}\n")
    with serving(tmp_path, "--host", "127.0.0.1", "--http-port", "0") as process:
        assert line(process) == "127.0.0.1 1 0 ./vixio.yaml\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == "stopping\n"
    assert '"message": "stopping"' in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, hang="yes") as process:
        assert line(process) == f"0.0.0.0 8000 8003 {BUILT_IN}\n"
        process.send_signal(signal.SIGTERM)
        assert line(process) == "stopping\n"
        # It hangs for ten minutes now, and the event loop with it.
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == -signal.SIGINT
