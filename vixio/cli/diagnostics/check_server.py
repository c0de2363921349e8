"""Tries what belongs to the server itself: codec, tools, memory, processes, protection, address."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from vixio.audio.echo import is_installed
from vixio.cli.banner import EVERY_ADDRESS, reachable_host
from vixio.cli.diagnostics.check_languages import Remark
from vixio.cli.diagnostics.installation import describe_installation
from vixio.composition.cluster import make_context
from vixio.composition.registry import data_folder, opened_desk, opened_memory
from vixio.core.capacity import CostModel
from vixio.core.errors import ConfigError
from vixio.core.extras import how_to_install
from vixio.core.metrics import Counters
from vixio.data.devices.secret import load_secret
from vixio.settings import Settings
from vixio.tools.from_settings import make_runtime, specs_of
from vixio.transports.xiaozhi import glyphs

TOOLS_TIMEOUT_S = 40.0
"""For all tool sources to be ready, after they have started: an MCP server gets 30 s to connect."""

RESOLVE_TIMEOUT_S = 5.0


async def try_installation(settings: Settings) -> str:
    """Return what is installed and imported."""
    return await asyncio.to_thread(describe_installation)


async def try_speed(settings: Settings) -> str:
    """Return how fast a core is, and how many devices that makes."""
    from vixio.composition.core_speed import core_speed

    try:  # beside the other trials, so what other work leaves of the core is not shown
        speed = await asyncio.to_thread(core_speed)
    except ConfigError:
        raise Remark("not measured, since the codec is missing") from None
    model = CostModel()
    model.calibrate(speed.slowness, 1.0)
    return (
        f"a core takes {speed.slowness:.1f} times as long as the reference machine's; about "
        f"{model.devices()} devices a core can converse at a time with services over HTTP, "
        "fewer with models on this machine"
    )


async def try_opus(settings: Settings) -> str:
    """Return what the codec does; it encodes and decodes a frame."""
    from vixio.audio.codec import OpusDecoder, OpusEncoder, load_codec

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


async def try_echo(settings: Settings) -> str:
    """Return whether devices that leave echo cancellation to the server have it."""
    if is_installed():
        return "AEC3, for devices that leave echo cancellation to the server"
    return await _told(
        settings,
        "aec",
        "none: devices that leave echo cancellation to the server are not heard while they speak "
        f"({how_to_install('aec')})",
    )


async def try_glyphs(settings: Settings) -> str:
    """Return whether devices get the characters that their fonts lack."""
    if glyphs.is_installed():
        return "drawn for devices whose fonts lack characters"
    return await _told(
        settings,
        "glyph_push",
        "none: devices show characters that their fonts lack as boxes, also those that take glyphs "
        f"({how_to_install('glyphs')})",
    )


async def _told(settings: Settings, feature: str, words: str) -> str:
    """Return what is not served. Raises Remark if known devices have the feature."""
    stating = 0
    if settings.data.kept:
        async with opened_desk(settings) as repository:
            stating = sum(feature in device.features for device in await repository.devices())
    if stating:
        raise Remark(f"{words}; {stating} of those known do")
    return words


async def try_tools(settings: Settings) -> str:
    """Return the tools of each source."""
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
    number = sum(map(len, listed.values()))
    agent = settings.agent
    models = getattr(agent.options, "models", (agent,))  # those of a fallback list
    limits = [getattr(each.options, "max_tools", 0) for each in models]
    most = min(filter(None, limits), default=number)
    if number > most:
        return f"{found}; the model is offered {most} of these {number} (agent.max_tools)"
    return f"{found}; a device adds its own"


def _counted(name: str, tools: int, type: str, more: str) -> str:
    """Return a source in a few words: ``12 home (mcp)``."""
    words = "; ".join(each for each in (type if type != name else "", more) if each)
    return f"{tools} {name}" + (f" ({words})" if words else "")


async def try_a2a(settings: Settings) -> str:
    """Return who may use this server as an agent."""
    section = settings.a2a
    if section is None:
        return "off: no agent may use this server (a2a)"
    from vixio.web.a2a.mount import check_installed as check_a2a
    from vixio.web.a2a.mount import load_gateway

    check_a2a()
    await asyncio.to_thread(load_gateway)
    callers = f"{len(section.tokens)} caller" + ("s" if len(section.tokens) > 1 else "")
    devices = "with" if section.devices is not None else "without"
    url = section.public_url or "the address that a caller uses"
    return f"on for {callers}, {devices} devices, at {url}"


async def try_memory(settings: Settings) -> str:
    """Return where memory is, and of how many devices."""
    memory = settings.memory
    if memory.store == "none":
        return "none: forgotten when the server stops (memory.store)"
    if not settings.data.kept:
        return "in the process: forgotten when the server stops (data.database)"
    async with opened_memory(settings) as opened:
        devices = len(await opened.known())
    kept = f"{memory.keep_days:g} days" if memory.keep_days else "for ever"
    return f"{devices} devices known, kept {kept}"


async def try_workers(settings: Settings) -> str:
    """Return the number of processes."""
    workers = settings.server.workers
    if workers != "auto":
        return _processes(workers)
    from vixio.cluster.workers.choice import choose_processes

    choice = await asyncio.to_thread(choose_processes, settings)
    return f"{_processes(choice.processes)}, chosen from {choice.reason}"


def _processes(number: int) -> str:
    return f"{number} process" + ("es" if number > 1 else "")


async def try_cluster(settings: Settings) -> str:
    """Return the nodes that there are; it joins for a moment. Raises ConfigError."""
    if settings.cluster is None:
        return "none: this server is alone"
    cluster = make_context(settings).cluster
    await cluster.start()
    try:
        found = cluster.stats()
    finally:
        await cluster.close()
    if not found["joined"]:
        raise ConfigError(
            "NATS does not answer, so the nodes serve their devices each by itself (cluster.url)"
        )
    others = found["nodes"] - 1
    return f"joined, {others} other node{'' if others == 1 else 's'} there now"


async def try_access(settings: Settings) -> str:
    """Return which devices may connect, and whether they need a token."""
    server = settings.server
    if not server.tokens:
        return "open: any device that reaches the ports may connect (server.access, server.auth)"
    where = "server.auth.secret"
    if settings.cluster is not None and not server.auth.secret.get_secret_value():
        where = "cluster.secret"
    elif not server.auth.secret.get_secret_value():
        folder = data_folder(settings)
        await asyncio.to_thread(load_secret, folder)
        where = f"the secret in {folder}"
    days = server.auth.token_lifetime_days
    return f"{server.access}: tokens of {days:g} days, signed with {where}"


async def try_registry(settings: Settings) -> str:
    """Return which devices are known. Raises ConfigError where the database cannot be used."""
    if not settings.data.kept:
        return "none: what is known of devices ends with the server (data.database)"
    async with opened_desk(settings) as repository:
        devices = await repository.devices()
    waiting = sum(device.code is not None for device in devices)
    known = f"{len(devices)} device{'' if len(devices) == 1 else 's'} known"
    return f"{known}, {waiting} waiting to be claimed" if waiting else known


async def try_address(settings: Settings) -> str:
    """Return the OTA address to enter on the device."""
    server = settings.server
    if server.public_url:
        await _resolve(urlsplit(server.public_url).hostname or "", "public_url")
        return f"{server.public_url}/xiaozhi/ota/ for the device"
    host = server.public_host or await asyncio.to_thread(reachable_host, server.host)
    address = host
    if server.public_host:
        address = await _resolve(host, "public_host")
    if address.startswith("127.") or address in {"::1", "localhost"}:
        if server.host in EVERY_ADDRESS and not server.public_host:
            return "this machine has no network; only it can connect"
        return f"{host}: only this machine can connect (server.host, server.public_host)"
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{server.http_port or 'PORT'}/xiaozhi/ota/ for the device"


async def _resolve(host: str, key: str) -> str:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_TIMEOUT_S):
            found = await loop.getaddrinfo(host, None)
    except (OSError, TimeoutError) as error:
        raise ConfigError(
            f"server.{key} {host!r} has no address that this machine can find; correct it, "
            "or leave it empty to tell each device the address through which it came"
        ) from error
    return str(found[0][4][0])
