"""What to write instead of a value of the wrong type, where that can be told from the value."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from pydantic import BaseModel

from vixio.providers.registry import ProviderKind
from vixio.settings.devices import DeviceSection
from vixio.settings.key_path import KeyPath
from vixio.tools.mcp.settings import McpServerSettings

_NUMBER = re.compile(r"(?P<number>[+-]?\d+(?:[.,]\d+)?)\s*(?P<unit>[^\W\d_]*|%)", re.UNICODE)

_SECONDS: Mapping[str, float] = MappingProxyType(
    {"ms": 0.001, "s": 1, "sec": 1, "second": 1, "min": 60, "m": 60, "minute": 60, "h": 3600}
    | {"毫秒": 0.001, "秒": 1, "分钟": 60}
)
"""Of units that people write behind a time."""

_NAMED: Mapping[str | int, type[BaseModel]] = MappingProxyType(
    {"mcp_servers": McpServerSettings, "devices": DeviceSection}
)
"""Sections whose keys are names that the user gives, with the models of their values."""


def remedy(kind: str, place: KeyPath, found: object) -> str:
    """Return what to write at ``place`` instead of ``found``; empty if that cannot be told.

    ``kind``: pydantic's type of the error.
    """
    match kind:
        case "int_parsing" | "float_parsing" | "int_from_float" if isinstance(found, str | float):
            return _number(str(place[-1]), found)
        case "bool_parsing" if isinstance(found, str):
            return _switch(found)
        case "list_type" | "tuple_type" if isinstance(found, str | int | float):
            return f"write {_listed(str(place[-1]), found)}"
        case "list_type" | "tuple_type" if isinstance(found, Mapping):
            return "write a dash in front of each entry: `- …`"
        case "dict_type" if isinstance(found, list):
            return "write `NAME:` for each dash, and the keys indented below it"
        case "model_type" if isinstance(found, list):
            return "write the keys without dashes"
        case "model_type":
            return _section(place, found)
    return ""


def _number(key: str, found: str | float) -> str:
    if isinstance(found, float):
        if not key.endswith("_ms"):
            return ""
        return f"it is in milliseconds, write {found * 1000:.0f}"
    match = _NUMBER.fullmatch(unicodedata.normalize("NFKC", found).strip())
    if match is None:
        return ""
    number, unit = match["number"].replace(",", "."), match["unit"].lower()
    if not unit:
        return f"write {number}"
    factor = _SECONDS.get(unit) or _SECONDS.get(unit.rstrip("s"))
    if factor is None or not key.endswith("_ms"):
        return f"write the number alone, {number}"
    return f"write the number of milliseconds alone, {float(number) * factor * 1000:.0f}"


def _switch(found: str) -> str:
    on = {"enable", "enabled", "ja", "oui", "si", "on", "active", "开", "是"}
    off = {"disable", "disabled", "nein", "non", "off", "none", "never", "关", "否"}
    word = found.lower()
    return "write true" if word in on else "write false" if word in off else ""


def _listed(key: str, found: str | float) -> str:
    entries = [str(found)]
    if key == "args" and isinstance(found, str):
        try:
            entries = shlex.split(found)
        except ValueError:  # an open quote
            entries = [found]
    return "[" + ", ".join(f'"{entry}"' for entry in entries) + "]"


def _section(place: KeyPath, found: object) -> str:
    if len(place) == 2 and (model := _NAMED.get(place[0])) is not None:
        if place[1] in model.model_fields:
            return f"{place[1]!r} stands below a name: write `{place[0]}: {{NAME: {{…}}}}`"
        return ""
    if place[-1] in set(ProviderKind) and isinstance(found, str):
        return f"write `{place[-1]}: {{name: {found}}}`"
    return ""
