"""Tries every part of a configuration: loads it, starts it, uses it once.

Each part gives one line. What a line says when it fails ends with what to do about it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from vixio.cli.diagnostics.check_languages import (
    Remark,
    try_hearing,
    try_messages,
    try_speaking,
    try_understanding,
)
from vixio.cli.diagnostics.check_mqtt import try_mqtt
from vixio.cli.diagnostics.check_ports import try_ports
from vixio.cli.diagnostics.check_providers import (
    try_agent,
    try_asr,
    try_smart_turn,
    try_tts,
    try_vad,
    try_vision,
)
from vixio.cli.diagnostics.check_server import (
    try_a2a,
    try_access,
    try_address,
    try_cluster,
    try_echo,
    try_glyphs,
    try_installation,
    try_memory,
    try_opus,
    try_registry,
    try_speed,
    try_tools,
    try_workers,
)
from vixio.composition.languages import profiles
from vixio.core.errors import ConfigError, VixioError
from vixio.settings import Settings, load_layered
from vixio.settings.devices import PROVIDERS
from vixio.settings.provider import ProviderSection

PART_TIMEOUT_S = 60.0
"""For one part; loading a model from a slow disk takes several seconds."""

AT_ONCE = 4
"""Parts that are tried at the same time: as many models as a server loads at its start."""


@dataclass(frozen=True, slots=True)
class Part:
    """What became of one part of the configuration."""

    name: str
    ok: bool
    detail: str
    """What works and how it was seen, or what does not and what to do."""
    remark: bool = False
    """Whether ``detail`` says what a user should know although it works."""


Probe = Callable[[Settings], Awaitable[str]]
"""Tries a part and says how it went; raises when it does not work."""


async def check_all(path: Path | None, source: str, report: Callable[[Part], None]) -> bool:
    """Try all parts, several at once; return whether all work.

    Each is reported in its place, as soon as it and those before it are known. ``path``: the
    settings file, none for the built-in defaults; ``source`` names it to people. Without valid
    settings nothing else can be tried.
    """
    try:
        settings = await asyncio.to_thread(load_layered, path)
    except ConfigError as error:
        report(Part("settings", False, _one_line(error)))
        return False
    report(Part("settings", True, source))
    all_ok = True
    places = asyncio.Semaphore(AT_ONCE)
    async with asyncio.TaskGroup() as group:
        trials = [
            group.create_task(_try(name, probe, each, places))
            for name, probe, each in _parts(settings)
        ]
        for trial in trials:
            part = await trial
            all_ok = all_ok and part.ok
            report(part)
    return all_ok


def _parts(settings: Settings) -> Iterator[tuple[str, Probe, Settings]]:
    """Return every line's name, its probe and the settings for it: one for each provider.

    The providers of devices are among them, each distinct one once.
    """
    each_profile = list(profiles(settings))
    for name, probe in PROBES.items():
        if probe is try_smart_turn and not settings.listening.smart_turn:
            continue  # few use it
        tried: set[tuple[ProviderSection | None, str]] = set()
        for place, of_profile in each_profile:
            if place and name not in _OF_DEVICES:
                break
            found = getattr(of_profile, _SECTIONS.get(name, name), None)
            section = found if isinstance(found, ProviderSection) else None
            language = of_profile.assistant.language if name in _BY_LANGUAGE else ""
            if (section, language) in tried:
                continue
            tried.add((section, language))
            if section is None or name in _SECTIONS:
                yield f"{place}{name}", probe, of_profile
                continue
            for part, each in section.parts():
                for server, one in each.servers():
                    alone = of_profile.model_copy(update={name: one})
                    yield f"{place}{name}{part}{server}", probe, alone


async def _try(name: str, probe: Probe, settings: Settings, places: asyncio.Semaphore) -> Part:
    """Try a part, from when there is a place for it."""
    async with places:
        return await _tried(name, probe, settings)


async def _tried(name: str, probe: Probe, settings: Settings) -> Part:
    bound = asyncio.timeout(PART_TIMEOUT_S)
    try:
        async with bound:
            return Part(name, True, await probe(settings))
    except Remark as remark:
        return Part(name, True, _one_line(remark), remark=True)
    except TimeoutError as error:
        if bound.expired():
            return Part(name, False, f"timed out after {PART_TIMEOUT_S:g} s")
        return Part(name, False, f"timed out: {_one_line(error)}")
    except VixioError as error:
        return Part(name, False, _one_line(error))
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a part is this command's answer
        return Part(name, False, f"{type(error).__name__}: {_one_line(error)}")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


_SECTIONS = {"hearing": "asr", "answers": "agent", "speaking": "tts"}
"""The sections of which a line is about, where the names differ."""

_BY_LANGUAGE = ("tts", "hearing", "answers", "speaking", "messages")
"""The lines that there are for each language that a device has."""

_OF_DEVICES = {*PROVIDERS, *_BY_LANGUAGE}
"""The lines that there may be for a device, too."""

PROBES: dict[str, Probe] = {
    "vixio": try_installation,
    "speed": try_speed,
    "libopus": try_opus,
    "echo": try_echo,
    "glyphs": try_glyphs,
    "vad": try_vad,
    "smart-turn": try_smart_turn,
    "asr": try_asr,
    "agent": try_agent,
    "tts": try_tts,
    "vision": try_vision,
    "hearing": try_hearing,
    "answers": try_understanding,
    "speaking": try_speaking,
    "messages": try_messages,
    "tools": try_tools,
    "a2a": try_a2a,
    "memory": try_memory,
    "ports": try_ports,
    "mqtt": try_mqtt,
    "workers": try_workers,
    "cluster": try_cluster,
    "access": try_access,
    "registry": try_registry,
    "address": try_address,
}
"""By the name of the line, in the order of the lines."""
