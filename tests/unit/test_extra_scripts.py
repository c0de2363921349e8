"""`make extra` in a small checkout of its own: pins, steps behind them, stamps, what it says."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

PYPROJECT = """\
[project]
name = "vixio"
[project.optional-dependencies]
plain = ["tiny-plain"]
steps = ["tiny-steps"]
"""
STEP = """\
#!/bin/sh
"$1" -c 'import sys; print("step: python", sys.version_info[0])' >&2
test ! -e "$(dirname "$0")/fails"
"""


def wheel(folder: Path, name: str, version: str) -> None:
    """Write a wheel with one module."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    files = {
        f"{name.replace('-', '_')}.py": f"version = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in files)
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        for each, text in files.items():
            archive.writestr(each, text)


class Checkout:
    """The real Makefile and scripts, extras of wheels made here, an environment that is set up."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.venv = root / ".venv"
        self.wheels = root / "wheels"
        self.target = root / "target"
        packages = ("firmware-test-client", "bench")
        for folder in (*packages, "requirements", "wheels", ".venv/bin", "target"):
            (root / folder).mkdir(parents=True)
        shutil.copy(ROOT / "Makefile", root)
        shutil.copytree(ROOT / "scripts", root / "scripts", ignore=shutil.ignore_patterns("extras"))
        step = root / "scripts" / "extras" / "steps.sh"
        step.parent.mkdir()
        step.write_text(STEP, encoding="utf-8")
        step.chmod(0o755)
        (root / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
        for package in packages:
            (root / package / "pyproject.toml").touch()
        for name in ("plain", "steps"):
            wheel(self.wheels, f"tiny-{name}", "1.0")
            self.lock(name, "1.0")
        (root / "requirements" / "base.lock").touch()
        (root / "requirements" / "models.lock").write_text("tiny-plain==1.0\n", encoding="utf-8")
        python = self.venv / "bin" / "python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
        python.chmod(0o755)
        (self.venv / "bin" / "vixio").touch()
        for path in root.rglob("*"):
            os.utime(path, (1e9, 1e9))
        (self.venv / ".installed").touch()  # newer than all that it depends on

    def lock(self, name: str, version: str) -> Path:
        path = self.root / "requirements" / f"{name}.lock"
        path.write_text(f"# pins\ntiny-{name}=={version}\n", encoding="utf-8")
        return path

    def make(self, *arguments: str) -> tuple[int, list[str]]:
        """Run make; return its status and what people are told. Packages go into ``target``."""
        done = subprocess.run(
            ["make", "--no-print-directory", *arguments],
            cwd=self.root,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.root),
                "TARGET": str(self.target),
                "PIP_NO_INDEX": "1",
                "PIP_CONFIG_FILE": os.devnull,
                "PIP_FIND_LINKS": str(self.wheels),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout.splitlines()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "checkout")


def test_pins_and_steps_of_several_extras_are_installed(checkout: Checkout) -> None:
    status, said = checkout.make("extra", "NAME=plain steps")
    assert (status, said) == (
        0,
        [
            "setup: extra plain",
            "setup:   requirements/plain.lock: 1 package",
            "setup:   unpacking",
            "setup: extra steps",
            "setup:   requirements/steps.lock: 1 package",
            "setup:   unpacking",
            "step: python 3",
            "setup: done: plain steps",
        ],
    )
    assert (checkout.target / "tiny_plain.py").is_file()
    assert (checkout.target / "tiny_steps.py").is_file()


@pytest.mark.parametrize("name", ["nothing", "models", "base", ""])
def test_what_is_no_extra_is_refused_with_those_that_are(checkout: Checkout, name: str) -> None:
    status, said = checkout.make("extra", f"NAME={name}")
    assert status == 2
    assert f"no extra '{name}'" in said[0] if name else "NAME= is missing" in said[0]
    assert said[0].endswith("There are: plain steps")
    assert list(checkout.target.iterdir()) == []


def test_a_step_that_fails_fails_the_extra(checkout: Checkout) -> None:
    (checkout.root / "scripts" / "extras" / "fails").touch()
    status, said = checkout.make("extra", "NAME=steps")
    assert status == 2
    assert "setup: done: steps" not in said
    assert not (checkout.venv / ".extra-steps").exists()


def test_pip_is_shown_when_it_fails(checkout: Checkout) -> None:
    checkout.lock("plain", "7.7")
    status, said = checkout.make("extra", "NAME=plain")
    assert status == 2
    assert any("No matching distribution found for tiny-plain==7.7" in line for line in said)
    assert any("plain.lock could not be installed" in line for line in said)


def test_setup_follows_the_locks_of_the_extras_that_are_installed(checkout: Checkout) -> None:
    assert checkout.make("extra", "NAME=plain")[0] == 0
    assert checkout.make("setup") == (0, ["make: Nothing to be done for 'setup'."])
    wheel(checkout.wheels, "tiny-plain", "2.0")
    checkout.lock("plain", "2.0")
    status, said = checkout.make("setup")
    assert status == 0
    assert said[0] == "setup: extra plain"
    assert "setup: done: plain" in said


def test_setup_is_done_again_where_the_command_is_gone(checkout: Checkout) -> None:
    (checkout.venv / "bin" / "vixio").unlink()
    status, said = checkout.make("--dry-run", "setup")
    assert status == 0
    assert any("install_project.sh .venv editable" in line for line in said)


def steps(*lines: str, count: int) -> list[str]:
    specification = importlib.util.spec_from_file_location(
        "pip_install", ROOT / "scripts" / "pip_install.py"
    )
    assert specification is not None
    assert specification.loader is not None
    module: ModuleType = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return list(module.steps(lines, count))


def test_how_far_pip_is() -> None:
    one = ["Collecting a==1\n", "  Downloading a-1-py3-none-any.whl (2.5 MB)\n"]
    other = ["Collecting b==1\n", "  Using cached b-1-py3-none-any.whl.metadata (500 kB)\n"]
    lines = [*(one + other) * 15, "  Building wheel for opuslib (pyproject.toml): started\n"]
    lines.append("  Building wheel for opuslib (pyproject.toml): finished with status 'done'\n")
    assert steps(*lines, "Installing collected packages: a, b\n", count=30) == [
        "20 of 30 packages, 30 MB",
        "building opuslib from source",
        "unpacking 45 MB",
    ]
    assert steps(*["Requirement already satisfied: a\n"] * 40, count=60) == []
