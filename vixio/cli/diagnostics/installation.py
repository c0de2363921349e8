"""Looks at what is installed and imported as ``vixio``: is it this project, and this copy of it?

The project named ``vixio`` on the package index is another one, with the same import name:
installed into the environment, it takes the place of this one, or of its metadata.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

import vixio
from vixio.core.errors import ConfigError
from vixio.core.extras import checkout, how_to_repair

COMMAND = "vixio.cli.commands:main"
"""What the command ``vixio`` of this project runs; no other project's does."""


@dataclass(frozen=True, slots=True)
class _Installed:
    """A distribution named ``vixio``. ``root``: the directory from which it is to be imported."""

    version: str
    summary: str
    place: Path
    root: Path
    ours: bool
    editable: bool


def describe_installation() -> str:
    """Return in a few words what is installed and imported.

    Raises ConfigError if it is not this project, or not the copy that the environment or the
    command belongs to.
    """
    root = Path(__file__).resolve().parents[3]
    _check_package(root)
    found = _installed()
    for other in found:
        if not other.ours:
            about = f" ({other.summary})" if other.summary else ""
            raise ConfigError(
                f"{other.place} has another project of the same name, vixio {other.version}{about},"
                f" installed over this one: {how_to_repair()}"
            )
    _check_command()
    version = vixio.__version__
    here = next((each for each in found if each.root == root), None)
    if here is None and found and not _on_python_path(root):
        raise ConfigError(
            f"vixio is imported from {root}, but the environment {sys.prefix} belongs to "
            f"{found[0].root}: {_how_to_separate(root)}"
        )
    if here is not None and not here.editable and here.version != version:
        raise ConfigError(
            f"the metadata in {here.place} are those of {here.version}, the code in {root} is "
            f"{version}: {how_to_repair()}"
        )
    how = "" if here is not None else ", by PYTHONPATH" if found else ", not installed"
    return f"{version} from {root}{how}"


def _check_package(root: Path) -> None:
    file = getattr(vixio, "__file__", None)
    where = Path(file).resolve().parents[1] if file else None
    if where != root or "Server" not in getattr(vixio, "__all__", ()):
        raise ConfigError(
            f"{file or 'the package vixio'} is not the one of this project, whose code runs from "
            f"{root}: {how_to_repair()}"
        )


def _installed() -> list[_Installed]:
    """Return each distribution named ``vixio`` on the path of imports, the first one first."""
    found: dict[Path, _Installed] = {}
    for each in metadata.distributions(name="vixio"):
        site = Path(str(each.locate_file(""))).resolve()
        editable = _editable(each)
        ours = any(
            point.group == "console_scripts" and point.value == COMMAND
            for point in each.entry_points
        )
        summary = each.metadata["Summary"] or ""
        found.setdefault(
            site / each.version,
            _Installed(each.version, summary, site, editable or site, ours, editable is not None),
        )
    return list(found.values())


def _editable(distribution: metadata.Distribution) -> Path | None:
    """Return the checkout of an editable install (PEP 660), as PEP 610 writes it down."""
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        if origin["dir_info"]["editable"] is True:
            return Path(unquote(urlsplit(origin["url"]).path)).resolve()
    except (ValueError, KeyError, TypeError):  # not written by pip, or of no directory
        return None
    return None


def _check_command() -> None:
    """See that the command that was started is that of the environment that runs it."""
    command = Path(sys.argv[0]).absolute()
    environment = command.parents[1] if len(command.parts) > 2 else command
    if not (environment / "pyvenv.cfg").is_file():
        return
    if environment.resolve() != Path(sys.prefix).resolve():
        raise ConfigError(
            f"{command} runs in the environment {sys.prefix}: its own was copied or moved. Remove "
            f"{environment} and run `make setup VENV={environment}` in its checkout"
        )


def _on_python_path(root: Path) -> bool:
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return any(entry and Path(entry).resolve() == root for entry in entries)


def _how_to_separate(root: Path) -> str:
    if checkout() is None:
        return f"remove {root / 'vixio'}"
    return f"`make setup` in {root} gives it one of its own, {root / '.venv'}"
