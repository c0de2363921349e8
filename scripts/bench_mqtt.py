#!/usr/bin/env python3
"""What an idle device costs over MQTT: memory and processor of the listener with many of them.

    python scripts/bench_mqtt.py [--devices 1000] [--seconds 60] [--amqtt PYTHON]

The server is a process of its own, without sessions behind its connections; each device pings once
a minute, as the firmware does with a keepalive of 120 s. ``--amqtt``: amqtt's broker instead, run
by the interpreter of an environment that has it. Needs Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from vixio.transports.admission.listener import raise_descriptor_limit

PORT = 18_830
PAGE = 4_096

VIXIO = """
import asyncio
from vixio.core.metrics import Counters
from vixio.transports.admission.connection_tracker import TrackedConnection
from vixio.transports.admission.listener import raise_descriptor_limit
from vixio.transports.xiaozhi.mqtt.listener import MqttListener
from vixio.transports.xiaozhi.mqtt.packets import ConnectCode
class Owner:
    arrived = lambda self, peer: TrackedConnection(None)
    admit = lambda self, link: ConnectCode.ACCEPTED
    opened = received = ended = left = lambda self, *_: None
async def main():
    raise_descriptor_limit()
    listener = MqttListener("127.0.0.1", PORT, Owner(), counters=Counters(), refused=print)
    await listener.start()
    await asyncio.Event().wait()
asyncio.run(main())
"""

AMQTT = """
import asyncio, resource
from amqtt.broker import Broker
async def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    await Broker({
        "listeners": {"default": {"type": "tcp", "bind": "127.0.0.1:PORT"}},
        "plugins": {
            "amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True},
        },
    }).start()
    await asyncio.Event().wait()
asyncio.run(main())
"""


def resident(pid: int) -> int:
    """Return the bytes of a process in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * PAGE


def used(pid: int) -> float:
    """Return the seconds of processor time of a process."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text("ascii").split()[0]) for task in tasks) / 1e9


def connect(number: int) -> bytes:
    """Return the CONNECT of a device with a login of the usual size."""
    fields = [f"aa:bb:cc:dd:{number >> 8:02x}:{number & 255:02x}", "u" * 36, "t" * 120]
    body = b"\0\4MQTT\4\xc2\0\x78" + b"".join(
        len(field).to_bytes(2, "big") + field.encode() for field in fields
    )
    return bytes((0x10, len(body) & 127 | 128, len(body) >> 7)) + body


async def listening() -> None:
    """Wait until the server listens, for ten seconds."""
    for _ in range(100):
        with suppress(ConnectionRefusedError):
            (await asyncio.open_connection("127.0.0.1", PORT))[1].close()
            return
        await asyncio.sleep(0.1)


async def device(number: int) -> asyncio.StreamWriter:
    """Connect one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT, limit=256)
    writer.write(connect(number))
    answer = await reader.readexactly(4)
    if answer != b"\x20\x02\x00\x00":
        raise SystemExit(f"refused: {answer.hex(' ')}")
    return writer


async def measure(pid: int, devices: int, seconds: float) -> None:
    """Print the figures."""
    await listening()
    first = await device(0xFFFF)
    memory, connecting = resident(pid), used(pid)
    writers = [await device(number) for number in range(devices)]
    each = (resident(pid) - memory) / devices / 1024
    idle, began, pings = used(pid), time.monotonic(), 0
    connecting = (idle - connecting) / devices * 1e6
    while (passed := time.monotonic() - began) < seconds:
        for number in range(pings, round(passed * devices / 60)):
            writers[number % devices].write(b"\xc0\x00")
            pings += 1
        await asyncio.sleep(0.02)
    idle = (used(pid) - idle) / passed / devices
    sys.stdout.write(
        f"{devices} devices: {each:.1f} KiB each, connecting {connecting:.0f} µs of processor, "
        f"idle {idle:.7f} of a core\n"
    )
    for writer in (first, *writers):
        writer.transport.abort()


def main() -> None:
    """Run the server and the devices."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--amqtt", default="", metavar="PYTHON")
    options = parser.parse_args()
    raise_descriptor_limit()
    code = (AMQTT if options.amqtt else VIXIO).replace("PORT", str(PORT))
    with subprocess.Popen([options.amqtt or sys.executable, "-c", code]) as server:
        try:
            asyncio.run(measure(server.pid, options.devices, options.seconds))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
