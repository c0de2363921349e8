"""Tries every part of a configuration: loads it, starts it, uses it once.

Each part gives one line. What a line says when it fails ends with what to do about it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Protocol, TypeVar

from vixio.cli.banner import EVERY_ADDRESS, reachable_host
from vixio.cluster.workers.choice import choose_processes
from vixio.core.audio import BYTES_PER_SAMPLE, pcm_seconds
from vixio.core.errors import ConfigError, VixioError
from vixio.core.metrics import Counters
from vixio.diagnostics.installation import describe_installation
from vixio.memory.create import check_installed
from vixio.memory.show import opened_store
from vixio.memory.store import MemoryStore
from vixio.providers.asr import SpeechHints
from vixio.settings import Settings, load_settings
from vixio.settings.devices import PROVIDERS
from vixio.settings.provider import ProviderSection
from vixio.tools.from_settings import make_runtime, specs_of

PART_TIMEOUT_S = 60.0
"""For one part; loading a model from a slow disk takes several seconds."""

TOOLS_TIMEOUT_S = 40.0
"""For all tool sources to be ready, after they have started: an MCP server gets 30 s to connect."""

RESOLVE_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Part:
    """What became of one part of the configuration."""

    name: str
    ok: bool
    detail: str
    """What works and how it was seen, or what does not and what to do."""


class Startable(Protocol):
    """What the four kinds of providers have in common."""

    async def start(self) -> None: ...
    async def close(self) -> None: ...


ProviderT = TypeVar("ProviderT", bound=Startable)

Probe = Callable[[Settings], Awaitable[str]]
"""Tries a part and says how it went; raises when it does not work."""


async def check_all(path: Path | None, source: str, report: Callable[[Part], None]) -> bool:
    """Try all parts, each reported as soon as it is known; return whether all work.

    ``path``: the settings file, none for the built-in defaults; ``source`` names it to people.
    Without valid settings nothing else can be tried.
    """
    try:
        settings = await asyncio.to_thread(load_settings, path)
    except ConfigError as error:
        report(Part("settings", False, _one_line(error)))
        return False
    report(Part("settings", True, source))
    all_ok = True
    for name, probe, each in _parts(settings):
        part = await _try(name, probe, each)
        all_ok = all_ok and part.ok
        report(part)
    return all_ok


def _parts(settings: Settings) -> Iterator[tuple[str, Probe, Settings]]:
    """Return every line's name, its probe and the settings for it: of a list, one provider each.

    The providers of devices are among them, each distinct one once.
    """
    profiles = [("", settings), *_of_devices(settings)]
    for name, probe in PROBES.items():
        tried: set[tuple[ProviderSection, str]] = set()
        for place, of_profile in profiles if name in PROVIDERS else profiles[:1]:
            section = getattr(of_profile, name, None)
            if not isinstance(section, ProviderSection):
                yield name, probe, settings
                continue
            language = of_profile.assistant.language if name in _SPEECH else ""
            if (section, language) in tried:
                continue
            tried.add((section, language))
            for index, each in enumerate(section.each()):
                shown = f"{place}{name}[{index}]" if section.others else f"{place}{name}"
                yield shown, probe, of_profile.model_copy(update={name: each})


def _of_devices(settings: Settings) -> Iterator[tuple[str, Settings]]:
    """Return for each device section the place of its keys, and the settings that it makes."""
    for key, device in settings.devices.items():
        language = device.language or settings.assistant.language
        assistant = settings.assistant.model_copy(update={"language": language})
        changed = {**dict(device.providers()), "assistant": assistant}
        yield f"devices.{key}.", settings.model_copy(update=changed)


async def _try(name: str, probe: Probe, settings: Settings) -> Part:
    bound = asyncio.timeout(PART_TIMEOUT_S)
    try:
        async with bound:
            return Part(name, True, await probe(settings))
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


@asynccontextmanager
async def _started(provider: ProviderT) -> AsyncIterator[ProviderT]:
    try:
        await provider.start()
        yield provider
    finally:
        await provider.close()


async def _installation(settings: Settings) -> str:
    return await asyncio.to_thread(describe_installation)


async def _opus(settings: Settings) -> str:
    from vixio.audio.opus import OpusDecoder, OpusEncoder, load_codec

    await asyncio.to_thread(load_codec)
    output = settings.audio_format()
    encoder = OpusEncoder(
        output,
        settings.output.opus_complexity,
        settings.output.opus_bitrate,
        settings.output.opus_application,
    )
    packets = encoder.encode(bytes(output.frame_bytes), output.sample_rate) + encoder.flush()
    if not packets or not OpusDecoder().decode(packets[0]):
        raise ConfigError("libopus does not decode what it encodes; install it anew")
    return f"encodes {output.sample_rate} Hz in frames of {output.frame_ms} ms"


async def _vad(settings: Settings) -> str:
    async with _started(settings.vad.create()) as vad:
        stream = vad.open()
        try:
            began = perf_counter()
            answers = await stream.process(bytes(vad.window_samples * BYTES_PER_SAMPLE))
            took_ms = (perf_counter() - began) * 1000
        finally:
            stream.close()
    if len(answers) != 1 or not 0 <= answers[0] <= 1:
        raise ConfigError(f"vad.{vad.name}: gave {list(answers)} for one window of silence")
    return f"{vad.name}: one window in {took_ms:.1f} ms"


async def _asr(settings: Settings) -> str:
    language = settings.assistant.language
    async with _started(settings.asr.create()) as asr:
        hints = SpeechHints(language=language)
        asr.prepare(hints)
        stream = asr.open(hints)
        try:
            await stream.feed(bytes(3_200))
        finally:
            await stream.close()
    heard = getattr(settings.asr.options, "language", None) or language
    if heard == "auto":
        return f"{asr.name}: takes audio, finds the language out by itself"
    if _base(heard) != _base(language):
        raise ConfigError(
            f"{asr.name} hears {heard} (asr.language), but the assistant's language is {language}: "
            "set both alike, or choose an ASR that knows it"
        )
    return f"{asr.name}: takes audio, language {heard}"


def _base(language: str) -> str:
    return language.lower().partition("-")[0]


async def _agent(settings: Settings) -> str:
    async with _started(settings.agent.create()) as backend:
        agent = backend.create()
        try:
            await agent.initialize(system_prompt=settings.assistant.instructions)
        finally:
            await agent.close()
        models = ", ".join(each["model"] for each in backend.stats())
    if models:
        return f"{backend.name}: starts, models {models} (not asked)"
    model = getattr(settings.agent.options, "model", "")
    return f"{backend.name}: starts" + (f", model {model} (not asked)" if model else "")


async def _tts(settings: Settings) -> str:
    language = settings.assistant.language
    word = "你好" if language.lower().startswith("zh") else "hello"
    async with _started(settings.tts.create()) as tts:
        spoken = 0.0
        async for pcm in tts.synthesize(word, language=language):
            spoken += pcm_seconds(pcm, tts.sample_rate)
    if not spoken:
        raise ConfigError(f"tts.{tts.name}: no audio for {word!r}; does its voice fit {language}?")
    return f"{tts.name}: {spoken * 1000:.0f} ms of audio for {word!r}, {tts.sample_rate} Hz"


async def _vision(settings: Settings) -> str:
    if settings.vision is None:
        return "none: photos of cameras are refused (vision)"
    async with _started(settings.vision.create()) as vision:
        model = getattr(settings.vision.options, "model", "")
        return f"{vision.name}: starts" + (f", model {model} (not asked)" if model else "")


async def _tools(settings: Settings) -> str:
    runtime = make_runtime(settings, Counters())
    try:
        await runtime.start()
        await runtime.ready(TOOLS_TIMEOUT_S)
        types = {spec.name: spec.type for spec in specs_of(settings)}
        listed = runtime.listed()
        counted = [
            _counted(source.name, len(listed[source.name]), types[source.name], await source.look())
            for source in runtime.sources
        ]
        found = ", ".join(counted)
        if faults := runtime.faults:
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise ConfigError(f"{faults[0].place}: {faults[0].reason}{more}; found: {found}")
    finally:
        await runtime.close()
    return f"{found}; a device adds its own"


def _counted(name: str, tools: int, type: str, more: str) -> str:
    """Return a source in a few words: ``12 home (mcp)``."""
    words = "; ".join(each for each in (type if type != name else "", more) if each)
    return f"{tools} {name}" + (f" ({words})" if words else "")


async def _a2a(settings: Settings) -> str:
    section = settings.a2a
    if section is None:
        return "off: no agent may use this server (a2a)"
    from vixio.a2a.mount import check_installed as check_a2a
    from vixio.a2a.mount import load_gateway

    check_a2a()
    await asyncio.to_thread(load_gateway)
    callers = f"{len(section.tokens)} caller" + ("s" if len(section.tokens) > 1 else "")
    devices = "with" if section.devices is not None else "without"
    url = section.public_url or "the address that a caller uses"
    return f"on for {callers}, {devices} devices, at {url}"


async def _memory(settings: Settings) -> str:
    memory = settings.memory
    if memory.store == "none":
        return "none: forgotten when the server stops (memory.store)"
    check_installed(memory.store)
    async with opened_store(memory.store, memory.path, memory.url.get_secret_value()) as call:
        place, devices = await call(_looked_at)
    kept = f"{memory.keep_days:g} days" if memory.keep_days else "for ever"
    return f"{memory.store}: {place}, {devices} devices known, kept {kept}"


async def _looked_at(store: MemoryStore) -> tuple[str, int]:
    return store.place, len(await store.known())


async def _ports(settings: Settings) -> str:
    server = settings.server
    for key, port in (("port", server.port), ("http_port", server.http_port)):
        try:
            listener = await asyncio.start_server(lambda *_: None, server.host, port)
        except socket.gaierror as error:
            raise ConfigError(
                f"server.host {server.host!r} is no address of this machine ({error.strerror})"
            ) from error
        except OSError as error:
            reason = _one_line(error)
            raise ConfigError(
                f"{server.host}:{port} cannot be opened ({reason}); stop what uses it, "
                f"or set another server.{key}"
            ) from error
        listener.close()
        await listener.wait_closed()
    shown = [str(port or "any free one") for port in (server.port, server.http_port)]
    return f"{shown[0]} (WebSocket) and {shown[1]} (OTA) are free on {server.host}"


async def _workers(settings: Settings) -> str:
    workers = settings.server.workers
    if workers != "auto":
        return _processes(workers)
    choice = await asyncio.to_thread(choose_processes, settings)
    return f"{_processes(choice.processes)}, chosen from {choice.reason}"


def _processes(number: int) -> str:
    return f"{number} process" + ("es" if number > 1 else "")


async def _auth(settings: Settings) -> str:
    # That a secret is there when it is needed, the settings themselves have seen to.
    auth = settings.server.auth
    if not auth.enabled:
        return "off: any device that reaches the ports may connect (server.auth.enabled)"
    return f"on: tokens of {auth.token_lifetime_days:g} days, signed with the secret"


async def _address(settings: Settings) -> str:
    server = settings.server
    host = server.public_host or await asyncio.to_thread(reachable_host, server.host)
    address = host
    if server.public_host:
        address = await _resolve(host)
    if address.startswith("127.") or address in {"::1", "localhost"}:
        if server.host in EVERY_ADDRESS and not server.public_host:
            return "this machine has no network; only it can connect"
        return f"{host}: only this machine can connect (server.host, server.public_host)"
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{server.http_port or 'PORT'}/xiaozhi/ota/ for the device"


async def _resolve(host: str) -> str:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_TIMEOUT_S):
            found = await loop.getaddrinfo(host, None)
    except (OSError, TimeoutError) as error:
        raise ConfigError(
            f"server.public_host {host!r} has no address that this machine can find; correct it, "
            "or leave it empty to tell each device the address through which it came"
        ) from error
    return str(found[0][4][0])


_SPEECH = ("asr", "tts")
"""The kinds that are tried in each language that a device has."""

PROBES: dict[str, Probe] = {
    "vixio": _installation,
    "libopus": _opus,
    "vad": _vad,
    "asr": _asr,
    "agent": _agent,
    "tts": _tts,
    "vision": _vision,
    "tools": _tools,
    "a2a": _a2a,
    "memory": _memory,
    "ports": _ports,
    "workers": _workers,
    "auth": _auth,
    "address": _address,
}
"""By the name of the line, in the order of the lines."""
