"""Extras: optional packages, and the command that installs them where the program runs.

The command never asks an index for ``vixio``: the project of that name there is another one. In a
checkout it is ``make extra``, which installs the pinned versions. An image is built anew.
Elsewhere pip installs the packages that the metadata of the installed distribution lists for the
extra.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Final, Literal

Extra = Literal[
    "a2a",
    "aec",
    "edge",
    "funasr",
    "glyphs",
    "joe",
    "kokoro",
    "litellm",
    "media",
    "moonshine",
    "mp3",
    "nats",
    "otel",
    "papers",
    "postgresql",
    "pulsar",
    "rabbitmq",
    "ready",
    "sherpa",
    "smart-turn",
    "ten",
    "whisper",
]
"""The extras of pyproject.toml, without `dev`."""

BESIDES: Final[dict[str, tuple[str, ...]]] = {"funasr": ("torch",)}
"""What an extra needs that its metadata leave out, because its build depends on the machine."""

ALONE: Final[dict[str, tuple[str, ...]]] = {"smart-turn": ("pipecat-ai==1.14.0",)}
"""Extras without metadata: packages of which a few files are used, without what they ask for."""

IN_IMAGE: Final = "VIXIO_IMAGE"
"""Set in the environment by the Dockerfile."""

_ROOT: Final = Path(__file__).resolve().parents[2]


def checkout() -> Path | None:
    """Return the root of the checkout from which this code runs; None for an installed copy."""
    return _ROOT if (_ROOT / "scripts" / "install_extra.sh").is_file() else None


def how_to_install(*extras: Extra) -> str:
    """Return the command that installs ``extras`` where this program runs."""
    root = checkout()
    if root is not None:
        return f"make {_where(root)}extra NAME={_quoted(extras)}{_environment(root)}"
    if os.environ.get(IN_IMAGE):
        return f"make docker EXTRAS={_quoted(extras)}"
    if alone := [package for extra in extras for package in ALONE.get(extra, ())]:
        return shlex.join([sys.executable, "-m", "pip", "install", "--no-deps", *alone])
    packages = [package for extra in extras for package in _packages(extra)]
    if not packages:  # run from a copied folder, without metadata
        return f"see `{' '.join(extras)}` in pyproject.toml"
    return shlex.join([sys.executable, "-m", "pip", "install", *packages])


def install_command(*extras: Extra) -> list[str] | None:
    """Return the program and arguments that install ``extras`` from here; None: it cannot.

    An image is built anew, and a copied folder has no metadata.
    """
    root = checkout()
    if root is not None:
        return [str(root / "scripts" / "install_extra.sh"), sys.prefix, *extras]
    packages = [package for extra in extras for package in _packages(extra)]
    if os.environ.get(IN_IMAGE) or not packages:
        return None
    return [sys.executable, "-m", "pip", "install", *packages]


def how_to_repair() -> str:
    """Return what to do when a package of the default install is missing or broken."""
    root = checkout()
    if root is not None:
        return f"make {_where(root)}-B setup{_environment(root)}"
    if os.environ.get(IN_IMAGE):
        return "make docker"
    return "install Vixio's wheel anew, from its file (the `vixio` on the index is another project)"


def _quoted(extras: tuple[str, ...]) -> str:
    return shlex.quote(" ".join(extras))


def _where(root: Path) -> str:
    """Return make's option for ``root``, unless it is the working directory."""
    try:
        here = Path.cwd()
    except OSError:  # the working directory was removed
        here = None
    return "" if here == root else f"-C {shlex.quote(str(root))} "


def _environment(root: Path) -> str:
    """Return make's variable for the environment that runs, unless it is the usual one."""
    prefix = Path(sys.prefix)
    return "" if prefix == root / ".venv" else f" VENV={shlex.quote(str(prefix))}"


def _packages(extra: str) -> list[str]:
    """Return what the metadata list for ``extra``, and what it needs besides."""
    try:
        lines = requires("vixio") or []
    except PackageNotFoundError:
        return []
    marked = re.compile(rf"^(?P<package>[^;]+?) *;.*\bextra *== *['\"]{re.escape(extra)}['\"]")
    found = [matched["package"] for line in lines if (matched := marked.match(line))]
    return [*found, *BESIDES.get(extra, ())] if found else []
