"""Descriptions of services and tools in the files of a folder.

Each ``*.json``, ``*.yaml`` or ``*.yml`` file holds one description, a list of them, or a mapping
with ``services`` and ``tools``. What has a ``request-queue`` is a service, everything else a tool.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from vixio.core.tools.source import Fault

_SUFFIXES: Final = {".json", ".yaml", ".yml"}

_MAX_BYTES: Final = 1_000_000
"""Of one file."""


@dataclass(frozen=True, slots=True)
class Described:
    """One description, and where it stands."""

    place: str
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Descriptions:
    """All that was found."""

    services: tuple[Described, ...] = ()
    tools: tuple[Described, ...] = ()
    faults: tuple[Fault, ...] = ()


def read_folder(folder: Path) -> Descriptions:
    """Return the descriptions in a folder; a file that cannot be read is a fault."""
    if not folder.is_dir():
        reason = "there is no such folder; correct tools.broker.folder"
        return Descriptions(faults=(Fault(str(folder), reason),))
    services: list[Described] = []
    tools: list[Described] = []
    faults: list[Fault] = []
    for path in sorted(folder.iterdir()):
        if path.suffix not in _SUFFIXES or path.name.startswith((".", "_")):
            continue
        try:
            found = tuple(_flat(_load(path), path.name))
        except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
            faults.append(Fault(path.name, f"cannot be read: {' '.join(str(error).split())[:200]}"))
            continue
        for each in found:
            (services if "request-queue" in each.value else tools).append(each)
    return Descriptions(tuple(services), tuple(tools), tuple(faults))


def _load(path: Path) -> Any:  # noqa: ANN401 - what stands in the file
    if path.stat().st_size > _MAX_BYTES:
        raise ValueError(f"it has more than {_MAX_BYTES} bytes")
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)


def _flat(value: Any, place: str) -> Iterator[Described]:  # noqa: ANN401 - what stands in the file
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _flat(each, f"{place}[{index}]")
    elif not isinstance(value, dict):
        raise ValueError("expected a mapping, or a list of mappings")  # noqa: TRY004 - the file
    elif set(value) <= {"services", "tools"}:
        for key in value:
            yield from _flat(value[key] or [], f"{place}.{key}")
    else:
        yield Described(place, value)
