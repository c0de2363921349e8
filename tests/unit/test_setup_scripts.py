"""The set-up scripts on machines that lack something, with stand-ins for the system's commands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


class Machine:
    """A PATH that holds the given commands and nothing else; `apt-get` writes down its calls."""

    def __init__(self, directory: Path) -> None:
        self.bin = directory / "bin"
        self.bin.mkdir()
        self.log = directory / "apt.log"
        dirname = shutil.which("dirname")
        assert dirname is not None
        self.bin.joinpath("dirname").symlink_to(dirname)

    def command(self, name: str, script: str) -> Path:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def root(self, *, apt: str = "exit 0") -> None:
        self.command("id", "echo 0")
        self.command("apt-get", f'echo "$*" >> {self.log}\n{apt}')

    def user(self) -> None:
        self.command("id", "echo 1000")

    def run(
        self, script: str, *arguments: str | Path, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SCRIPTS / script, *arguments],
            env={"PATH": str(self.bin), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    @property
    def apt_calls(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_python_that_does_not_run_is_passed_over(machine: Machine) -> None:
    machine.command("python3.13", "echo 'no such version' >&2; exit 127")
    machine.command("python3", f'exec {sys.executable} "$@"')
    found = machine.run("find_python.sh")
    assert (found.returncode, found.stdout.strip()) == (0, sys.executable)


def test_a_named_python_is_the_only_candidate(machine: Machine) -> None:
    machine.command("python3", f'exec {sys.executable} "$@"')
    found = machine.run("find_python.sh", PYTHON="python3.99")
    assert found.returncode == 1
    assert "python3.99" in found.stderr


def test_no_python_is_one_line_that_says_what_to_install(machine: Machine) -> None:
    machine.command("python3", "exit 1")  # what an older Python answers
    found = machine.run("find_python.sh")
    assert found.returncode == 1
    assert found.stdout == ""
    (line,) = found.stderr.splitlines()
    for system in ("Debian", "Fedora", "macOS"):
        assert system in line


def test_libopus_that_is_there_is_left_alone(machine: Machine) -> None:
    machine.root()
    python = machine.command("python", "exit 0")
    assert machine.run("ensure_libopus.sh", python).returncode == 0
    assert machine.apt_calls == []


def test_root_on_debian_gets_libopus_from_apt(machine: Machine, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    machine.root(apt=f": > {installed}")
    python = machine.command("python", f"test -e {installed}")
    done = machine.run("ensure_libopus.sh", python)
    assert done.returncode == 0, done.stderr
    assert machine.apt_calls == ["install -y -qq --no-install-recommends libopus0"]


def test_package_lists_are_fetched_when_the_image_has_none(
    machine: Machine, tmp_path: Path
) -> None:
    lists = tmp_path / "lists"
    machine.root(apt=f"case $1 in update) : > {lists} ;; *) test -e {lists} ;; esac")
    done = machine.run("apt_install.sh", "libopus0")
    assert done.returncode == 0, done.stderr
    assert [call.split()[0] for call in machine.apt_calls] == ["install", "update", "install"]


@pytest.mark.parametrize("who", ["user", "root without apt", "root whose apt fails"])
def test_libopus_that_cannot_be_installed_is_one_line(machine: Machine, who: str) -> None:
    if who == "user":
        machine.user()
    elif who == "root without apt":
        machine.command("id", "echo 0")
    else:
        machine.root(apt="exit 100")
    python = machine.command("python", "exit 1")
    done = machine.run("ensure_libopus.sh", python)
    assert done.returncode == 1
    assert done.stdout == ""
    remedy = [line for line in done.stderr.splitlines() if "libopus is missing" in line]
    assert len(remedy) == 1
    for command in ("apt-get install libopus0", "dnf install opus", "brew install opus"):
        assert command in remedy[0]


def test_a_python_without_ensurepip_is_told_which_package(machine: Machine, tmp_path: Path) -> None:
    """Debian's python3 has no ensurepip until python3.X-venv is installed."""
    machine.user()
    machine.command(
        "python3",
        'case "$2" in\n'
        f"*version_info\\ \\<*) echo {machine.bin}/python3 ;;\n"
        '*"import ensurepip"*) exit 1 ;;\n'
        "*) echo 3.11 ;;\n"
        "esac",
    )
    done = machine.run("make_venv.sh", tmp_path / "venv", PYTHON="python3")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "apt-get install python3.11-venv" in line


def test_an_environment_that_works_is_kept(machine: Machine, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    python = venv / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    python.chmod(0o755)
    done = machine.run("make_venv.sh", venv)  # no python on the PATH: nothing could be made
    assert (done.returncode, done.stderr) == (0, "")


def test_every_script_is_sound_shell() -> None:
    scripts = sorted(SCRIPTS.rglob("*.sh"))
    assert scripts
    for script in scripts:
        checked = subprocess.run(["/bin/sh", "-n", script], capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is nothing to install")
def test_libcxx_is_installed_or_named(machine: Machine) -> None:
    machine.command("uname", "echo Linux")
    lacking = machine.command("python", "exit 1")
    machine.user()
    done = machine.run("extras/ten.sh", lacking)
    assert done.returncode == 1
    assert "sudo apt-get install libc++1" in done.stderr
    machine.root()
    machine.run("extras/ten.sh", lacking)
    assert any("install" in call and "libc++1" in call for call in machine.apt_calls)


@pytest.mark.parametrize("installed", [False, True])
def test_the_database_is_installed_where_it_is_missing(
    machine: Machine, tmp_path: Path, installed: bool
) -> None:
    ls = shutil.which("ls")
    assert ls is not None
    (machine.bin / "ls").symlink_to(ls)
    postgres = tmp_path / "postgresql"
    initdb = postgres / "15" / "bin" / "initdb"
    initdb.parent.mkdir(parents=True)
    machine.root(apt='echo "runlevel $RUNLEVEL" >> ' + str(machine.log))
    if installed:
        initdb.touch()
    done = machine.run("ensure_databases.sh", POSTGRES_DIR=str(postgres))
    if installed:
        assert (done.returncode, machine.apt_calls) == (0, [])
        return
    assert machine.apt_calls[:2] == [
        "install -y -qq --no-install-recommends postgresql",
        "runlevel 1",  # so that no service is started
    ]
    # This apt-get installs nothing.
    assert done.returncode == 1
    assert "sudo apt-get install postgresql" in done.stderr


@pytest.mark.parametrize("who", ["user", "root", "installed"])
def test_the_brokers_are_installed_where_one_is_missing(
    machine: Machine, tmp_path: Path, who: str
) -> None:
    server, other = tmp_path / "rabbitmq-server", tmp_path / "mosquitto"
    other.touch(0o755)
    if who == "user":
        machine.user()
    else:
        chmod = shutil.which("chmod")
        assert chmod is not None
        (machine.bin / "chmod").symlink_to(chmod)
        install = f"echo > {server}; chmod +x {server}"
        machine.root(apt=f'echo "runlevel $RUNLEVEL" >> {machine.log}; {install}')
    if who == "installed":
        server.touch()
        server.chmod(0o755)
    done = machine.run("ensure_brokers.sh", RABBITMQ_SERVER=str(server), MOSQUITTO=str(other))
    if who == "installed":
        assert (done.returncode, machine.apt_calls) == (0, [])
    elif who == "user":
        assert done.returncode == 1
        assert "sudo apt-get install rabbitmq-server mosquitto" in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert machine.apt_calls == [
            "install -y -qq --no-install-recommends rabbitmq-server mosquitto",
            "runlevel 1",  # so that no service is started
        ]
