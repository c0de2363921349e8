"""Holds one conversation: with a server of its own or one that runs, and with the chosen sound."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from firmware_test_client import (
    ConnectError,
    DeviceConfig,
    DeviceError,
    LiveSound,
    Pcm,
    SimulatedDevice,
    Voice,
)
from vixio.cli.chat import read_lines
from vixio.cli.demo.conversation import device_config, running
from vixio.cli.diagnostics.audio_file import read_pcm
from vixio.cli.talk.conversation import Take, Talk, Utterance
from vixio.cli.talk.lines import Lines
from vixio.cli.talk.sound import PLAYERS, RECORDERS, Player, program, record
from vixio.cli.talk.watching import DeviceWatch, watch_server
from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.errors import ConfigError, VixioError
from vixio.core.session.events import EventBus
from vixio.providers.espeak.provider import EspeakSettings
from vixio.settings import Settings
from vixio.settings.sections import AuthSettings

LONGEST_S: Final = 120.0
"""Of a file. A server ends an utterance after ``listening.max_utterance_ms``, by default 30 s."""

KEYS: Final = "Ctrl-C stops an answer, Ctrl-D ends."

SEEN: Final = (
    "Of a server that runs, the times are those that a device sees, from the end of speech on: "
    "the words on its\nscreen, the first sentence, the first sound.\n"
)


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be done. ``url``: of a server that runs; empty: one is started."""

    files: Sequence[Path]
    url: str
    mic: bool
    play: bool
    save: Path | None
    key: str
    """The device's id."""
    language: str
    timeout: float

    @property
    def hurried(self) -> bool:
        """Whether a person talks, who may interrupt: no file and no script does."""
        return self.mic or (not self.files and sys.stdin.isatty())


async def hold(settings: Settings, request: Request) -> bool:
    """Hold the conversation; return whether every turn was answered. Raises VixioError."""
    recorder = program(RECORDERS, "records") if request.mic else None
    found = program(PLAYERS, "plays") if request.play else None
    if request.save is not None and not request.save.parent.is_dir():
        raise ConfigError(f"{request.save}: there is no folder {request.save.parent}")
    take = await _takes(request)
    lines = Lines()
    player = Player(found, lambda why: lines.say("", why)) if found else None
    async with _served(settings, request) as (config, events):
        device = SimulatedDevice(config)
        talk = Talk(
            device,
            lines,
            patience=request.timeout,
            hurried=request.hurried,
            prompt="> " if request.hurried and not request.mic else "",
            player=player,
        )
        live = LiveSound() if recorder is not None else None
        device.plug_in(microphone=live, loudspeaker=player.play if player else None)
        async with AsyncExitStack() as stack:
            if player is not None:
                await stack.enter_async_context(player.running())
            group = await stack.enter_async_context(asyncio.TaskGroup())
            watch = (
                DeviceWatch(device, lines, talk.over).run()
                if events is None
                else watch_server(events, config.device_id, lines, talk.over)
            )
            beside = [group.create_task(watch)]
            if recorder is not None and live is not None:
                beside.append(group.create_task(record(recorder, live)))
            try:
                with _plain_errors():
                    await device.start()
                    if request.hurried:
                        click.echo(f"{'Speak' if request.mic else 'Type what you say'}; {KEYS}\n")
                    await talk.run(take)
            finally:
                for each in beside:
                    each.cancel()
                await device.close()
                if request.save is not None:
                    await _save(device, request.save)
    lines.total()
    return lines.all_answered


@asynccontextmanager
async def _served(
    settings: Settings, request: Request
) -> AsyncIterator[tuple[DeviceConfig, EventBus | None]]:
    """Yield a device for the server, and the server's events if it is in this process."""
    voices = EspeakSettings().voices
    tag = request.language.lower()
    voice = voices.get(tag) or voices.get(tag.partition("-")[0]) or tag.partition("-")[0]
    common = DeviceConfig(
        ota_url="-",
        device_id=request.key,
        language=request.language,
        activation_rounds=None,
        voice=Voice(name=voice),
        decode=request.play or request.save is not None,
        keep_frames=False,
    )
    if request.url:
        kind = urlsplit(request.url).scheme
        if kind in {"ws", "wss"}:
            running_one = replace(common, ota_url=None, ws_url=request.url)
        elif kind in {"http", "https"}:
            running_one = replace(common, ota_url=request.url)
        else:
            raise ConfigError(
                f"--url {request.url}: give the OTA URL that `vixio serve` prints, http://…, "
                "or the address of its WebSocket, ws://…"
            )
        click.echo(SEEN)
        yield running_one, None
        return
    async with running(_own(settings)) as server:
        yield replace(common, ota_url=device_config(server).ota_url), server.events


def _own(settings: Settings) -> Settings:
    """Return the settings for a server that only this process reaches."""
    server = settings.server.model_copy(
        update={
            "host": "127.0.0.1",
            "port": 0,
            "http_port": 0,
            "public_host": "",
            "public_url": "",
            "access": "open",
            "auth": AuthSettings(),
        }
    )
    api = settings.api.model_copy(update={"enabled": False})
    alone = {"server": server, "api": api, "a2a": None, "cluster": None, "mqtt": None}
    return settings.model_copy(update=alone)


async def _takes(request: Request) -> Take:
    """Return what gives the utterances. Raises ConfigError for a file that cannot be read."""
    if request.files:
        rest = deque([await asyncio.to_thread(_read, path) for path in request.files])

        async def next_file() -> Utterance | None:
            return rest.popleft() if rest else None

        return next_file
    if request.mic and not sys.stdin.isatty():

        async def nothing() -> Utterance | None:
            await asyncio.Event().wait()
            return None

        return nothing
    typed = read_lines()

    async def next_line() -> Utterance | None:
        while (line := await typed.get()) is not None:
            if text := line.strip():
                return Utterance(text, text)
        return None

    return next_line


def _read(path: Path) -> Utterance:
    """Return the speech of a file. Raises ConfigError."""
    pcm = bytearray()
    for piece in read_pcm(path):
        pcm += piece
        if len(pcm) > pcm_bytes(LONGEST_S, LISTEN_RATE):
            raise ConfigError(f"{path}: longer than {LONGEST_S:g} s, which no utterance is: cut it")
    return Utterance(path.name, Pcm(bytes(pcm), LISTEN_RATE))


async def _save(device: SimulatedDevice, path: Path) -> None:
    try:
        await asyncio.to_thread(device.write_wav, path)
    except OSError as error:
        raise VixioError(f"{path}: {error.strerror or error}") from error


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Raise the device's errors as VixioError, in one line."""
    try:
        yield
    except DeviceError as error:
        said = str(error).splitlines()[0]
        if isinstance(error, ConnectError) and error.status == HTTPStatus.UNAUTHORIZED:
            said += ": it wants a token: give its OTA URL, from which the device gets one"
        raise VixioError(said) from error
