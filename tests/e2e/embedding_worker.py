"""A program that embeds Vixio as one of several processes, and gives it commands.

``python -m tests.e2e.embedding_worker PATH NUMBER PORT HTTP_PORT CONFIG``. PATH is a socket at
which the coordinator listens. Each line of standard input is ``{"device": …, "command": …,
"timeout": …}``; its result is a line of standard output.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path

from vixio import server as application
from vixio.cluster.context import ClusterContext
from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.cluster import WorkerCluster
from vixio.composition.run import StopRequest
from vixio.core.commands import decode
from vixio.core.cores import share_cores
from vixio.core.session.commands import CustomHandler
from vixio.core.session.session import Session
from vixio.core.tools.types import JsonObject
from vixio.settings import load_settings, override


async def serve(coordinator: str, number: int, port: int, http_port: int, config: str) -> None:
    settings = override(
        load_settings(Path(config)), host="127.0.0.1", port=port, http_port=http_port
    )
    channel = socket.socket(socket.AF_UNIX)
    channel.connect(coordinator)
    cluster = WorkerCluster(number, await Channel.open(channel))
    app = application.Server(settings, context=ClusterContext(cluster, share_ports=True))
    app.on_command("which process", whoami(number))
    stop = StopRequest()
    linked = asyncio.create_task(cluster.run())
    linked.add_done_callback(lambda _: stop.now())
    commanded = asyncio.create_task(take_commands(app))
    try:
        await application.run(app, stop, lambda: write("ready"))
    finally:
        for task in (commanded, linked):
            task.cancel()
        await asyncio.wait({commanded, linked})


def whoami(number: int) -> CustomHandler:
    async def answer(session: Session, arguments: JsonObject) -> JsonObject:
        return {**arguments, "process": number, "device": session.device_id}

    return answer


async def take_commands(app: application.Server) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        asked = json.loads(line)
        command = decode(asked["command"])
        result = await app.command(asked["device"], command, timeout=asked["timeout"])
        write(json.dumps(result.to_json()))


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    share_cores(2)
    number, port, http_port = map(int, sys.argv[2:5])
    asyncio.run(serve(sys.argv[1], number, port, http_port, sys.argv[5]))
