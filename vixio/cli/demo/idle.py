"""Devices that nobody talks to, reached over MQTT: reminded, answering, called, upgraded."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vixio.cli.demo.conversation import PATIENCE, device_config, running
from vixio.cli.demo.offline import LOUDER, is_now
from vixio.composition.firmware import firmware_folder
from vixio.core.commands import Custom
from vixio.data.database.database import Database
from vixio.data.database.link import Operation
from vixio.data.devices.firmware.errors import FirmwareError
from vixio.data.devices.firmware.manager import FirmwareManager
from vixio.data.reminders.records import Kind, Order, State
from vixio.server import Server
from vixio.settings import (
    AssistantSettings,
    DataSection,
    MemorySection,
    ServerSettings,
    Settings,
    TimeoutSettings,
)
from vixio.settings.mqtt import MqttSection
from vixio.web.api.device_commands import CALL, UPGRADE

if TYPE_CHECKING:
    from firmware_test_client import Reply, SimulatedDevice

BOUND_S: Final = 30.0
"""For what happens by itself: a reminder's time, a device that is asked to speak."""

PLANTS: Final = "water the plants"
CAT: Final = "feed the cat"
QUESTION: Final = "what time is it"
VOLUME: Final = "self.audio_speaker.set_volume"
NEWER: Final = "2.1.0"
"""The firmware that is released; the device comes with an older one."""

AUDIBLE: Final = 100.0
"""RMS, of 32,768: a voice has some thousands, silence through Opus one or two."""


class Steps:
    """Prints what has to hold, and counts."""

    def __init__(self) -> None:
        self.checks = self.failed = 0

    def check(self, good: object, expected: str) -> None:
        """Print whether something holds."""
        self.checks += 1
        self.failed += not good
        print(f"  {'ok      ' if good else 'FAILED  '}expected: {expected}\n")


async def converse(wav: Path | None) -> int:
    """Reach two devices and print it; return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        return await _converse(wav, Path(folder))


async def _converse(wav: Path | None, folder: Path) -> int:
    settings = Settings(
        server=ServerSettings(host="127.0.0.1", port=0, http_port=0),
        mqtt=MqttSection(port=0, udp_port=0),
        memory=MemorySection(store="none"),
        data=DataSection.model_validate({"folder": str(folder), "database": ""}),
        assistant=AssistantSettings(filler_after=0),  # what is said does not depend on the machine
        timeouts=TimeoutSettings.model_validate(PATIENCE),
    )
    steps = Steps()
    async with running(settings) as app:
        await _first(app, steps, wav)
        await _second(app, steps)
    print(f"{steps.checks - steps.failed} of {steps.checks} steps as expected")
    return 1 if steps.failed else 0


async def _first(app: Server, steps: Steps, wav: Path | None) -> None:
    async with _idle(app, steps, speak_request=True) as device:
        await _reminded(app, device, steps)
        await _reached(app, device, steps)
        await _upgraded(app, device, steps)
        if wav is not None:
            device.write_wav(wav)
            print(f"  both sides as stereo (left: user, right: device): {wav}\n")


async def _second(app: Server, steps: Steps) -> None:
    async with _idle(app, steps, speak_request=False) as device:
        await _shown(app, device, steps)


@asynccontextmanager
async def _idle(
    app: Server, steps: Steps, *, speak_request: bool
) -> AsyncIterator[SimulatedDevice]:
    """A device that stands idle; what it does not do in time fails a step."""
    from firmware_test_client import DeviceError, SimulatedDevice

    config = replace(device_config(app), speak_request=speak_request, listen_on_connect=False)
    async with SimulatedDevice(config) as device:
        knows = "knows" if speak_request else "does not know"
        print(f"  device  starts; its firmware {knows} speak_request")
        device_id = device.config.device_id
        await device.wait_for(lambda: app.sessions.find(device_id), what="its session")
        steps.check(
            device.carrier == "mqtt" and device.state == "idle",
            "OTA has sent it to MQTT; it stands idle",
        )
        try:
            yield device
        except DeviceError as error:
            steps.check(False, f"what did not happen: {str(error).splitlines()[0]}")


async def _reminded(app: Server, device: SimulatedDevice, steps: Steps) -> None:
    """Have it speak by itself, and have its user answer."""
    opened = app.counters.get("xiaozhi.conversations")
    reply = await _remind(app, device, PLANTS)
    _show("device", reply)
    steps.check(
        PLANTS in reply.text and _sounded(reply),
        "it has spoken by itself, and was heard to the end",
    )
    steps.check(
        app.counters.get("xiaozhi.conversations") == opened + 1 and await _delivered(app, PLANTS),
        "it was roused for that alone, and the reminder is on record as delivered",
    )
    print(f"  user    {QUESTION}")
    reply = await device.ask(QUESTION)
    _show("vixio", reply)
    steps.check(
        reply.stt == QUESTION and is_now(reply.text, datetime.now()) and _sounded(reply),  # noqa: DTZ005 - as spoken
        "it listens behind that; asked for it, it says the time of day",
    )


async def _reached(app: Server, device: SimulatedDevice, steps: Steps) -> None:
    """Call a tool of the device while it is idle again."""
    await device.toggle()  # as the chat button: it hangs up
    await device.wait_for_state("idle")
    opened, before = app.counters.get("xiaozhi.conversations"), len(device.replies)
    print(f"  server  calls {VOLUME} with {LOUDER}")
    call = {"tool": VOLUME, "arguments": {"volume": LOUDER}, "user": False}
    result = await app.command(device.config.device_id, Custom(CALL, call))
    print(f"  device  {result.value}")
    steps.check(device.volume == LOUDER, f"the idle device's volume becomes {LOUDER}")
    steps.check(
        (device.state, len(device.replies)) == ("idle", before)
        and app.counters.get("xiaozhi.conversations") == opened,
        "no conversation was begun for it",
    )


async def _upgraded(app: Server, device: SimulatedDevice, steps: Steps) -> None:
    """Have the device install a release now, which it would be offered at its next start."""
    from firmware_test_client.image import firmware_image

    board, folder = device.config.board, firmware_folder(app.settings)
    file = Path(app.settings.data.folder, "xiaozhi.bin")
    await asyncio.to_thread(file.write_bytes, firmware_image(NEWER, size=300_000))

    async def release(database: Database) -> None:
        manager = FirmwareManager(database, folder)
        await manager.add(file, board, "demo")
        await manager.release(board, NEWER, "demo", devices=[device.config.device_id])

    await app.registry.link.call(Operation(release, (FirmwareError,)))
    print(f"  server  has the device upgraded to {NEWER}")
    await app.command(device.config.device_id, Custom(UPGRADE, {"board": board}))
    upgrade = await device.wait_for_upgrade(timeout=BOUND_S)
    await device.wait_for_boot(2, timeout=BOUND_S)
    print(f"  device  {upgrade.received} bytes; it has run {', then '.join(device.boots)}")
    steps.check(
        upgrade.error is None and device.boots[1:] == [NEWER] and device.state == "idle",
        f"it installs {NEWER} without anybody there, and stands idle again with it",
    )


async def _shown(app: Server, device: SimulatedDevice, steps: Steps) -> None:
    """Have the device show what it cannot say, and say it at the next contact."""
    await _order(app, device, CAT)
    await device.wait_for(lambda: device.notices, what="a notice", timeout=BOUND_S)
    notice = device.notices[-1]
    print(f"  screen  {notice.status}: {notice.message}")
    shown = CAT in notice.message and not device.replies
    steps.check(shown, "the device shows the reminder, and is silent")
    print(f"  user    {QUESTION}")
    reply = await device.ask(QUESTION)
    _show("vixio", reply)
    told = await _spoken(device, CAT)
    _show("vixio", told)
    steps.check(
        CAT in told.text and _sounded(told) and await _delivered(app, CAT),
        "its user presses the button and is told it, behind the answer to the question",
    )


async def _remind(app: Server, device: SimulatedDevice, text: str) -> Reply:
    await _order(app, device, text)
    return await _spoken(device, text)


async def _order(app: Server, device: SimulatedDevice, text: str) -> None:
    print(f"  server  a reminder is due: {text}")
    service = app.reminders.service
    order = Order(
        device_id=device.config.device_id, kind=Kind.REMINDER, due_at=service.clock(), text=text
    )
    await service.with_repository(lambda repository: repository.add(order))


async def _spoken(device: SimulatedDevice, text: str) -> Reply:
    """Wait until the device has said it. Raises DeviceTimeout."""

    def found() -> list[Reply]:
        return [reply for reply in device.replies if text in reply.text and reply.ended]

    return (await device.wait_for(found, what=f"the words {text!r}", timeout=BOUND_S))[-1]


async def _delivered(app: Server, text: str) -> bool:
    """Whether a reminder is soon on record as heard: that follows what the device has played."""
    with suppress(TimeoutError):
        async with asyncio.timeout(BOUND_S):
            while True:
                found = await app.reminders.service.with_repository(
                    lambda repository: repository.deliveries(over=True)
                )
                if State.DELIVERED in (each.state for each in found if each.text == text):
                    return True
                await asyncio.sleep(0.1)
    return False


def _sounded(reply: Reply) -> bool:
    """Whether all of a reply has left the loudspeaker, and was no silence."""
    whole = reply.ended and not reply.cut and reply.played == reply.frames > 0
    return whole and reply.heard.rms > AUDIBLE


def _show(who: str, reply: Reply) -> None:
    print(f"  {who:<7} {reply.text} ({reply.played_ms / 1000:.1f} s played)")
