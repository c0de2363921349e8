"""A session host with devices that connect without a wire; on the real clock, for its threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.session.conversation import Conversation
from vixio.core.cluster import Cluster
from vixio.core.device import Device, DeviceProfile
from vixio.core.host import SessionHost
from vixio.core.local_cluster import LocalCluster
from vixio.core.pipeline import Pipeline
from vixio.core.session.events import Event
from vixio.core.session.session import Session
from vixio.core.transport import DeviceToolsCallback, SessionHandler, TransportBase
from vixio.testing import ManualConnection, ScriptedTTS

BOUND = 20.0
DEVICE = "02:00:00:00:00:01"


class DirectTransport(TransportBase):
    """Hands connections to the host; each in a task, as a server's connections are."""

    def __init__(self) -> None:
        self._handler: SessionHandler | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.devices: list[ManualConnection] = []

    async def start(self, handler: SessionHandler) -> None:
        self._handler = handler

    async def stop(self) -> None:
        for device in self.devices:
            device.vanish()
        await asyncio.gather(*self._tasks)

    def connect(self, device_id: str = DEVICE) -> ManualConnection:
        """Return the connection of a device that has just said hello."""
        assert self._handler is not None
        device = ManualConnection(device_id)
        self.devices.append(device)
        self._tasks.append(asyncio.create_task(self._serve(device)))
        return device

    async def _serve(self, device: ManualConnection) -> None:
        assert self._handler is not None
        await self._handler(device)

    def set_device_tools_callback(self, session_id: str, callback: DeviceToolsCallback) -> None:
        """The devices have no tools."""

    def stats(self) -> dict[str, Any]:
        return {"connected": len(self.devices)}


class Hosted:
    """A running host. ``ready`` holds the making of engines up while it is not set."""

    def __init__(self, talk: Conversation, cluster: Cluster) -> None:
        self.transport = DirectTransport()
        self.profile = DeviceProfile(name="Kitchen")
        self.happened: list[Event] = []
        self.ready = asyncio.Event()
        self.ready.set()
        self.making = 0
        """How many engines were begun."""
        self._talk = talk
        self.host = SessionHost(
            self.transport,
            self._create_pipeline,
            cluster=cluster,
            settings=talk.settings,
            counters=talk.counters,
            profile_of=self._profile_of,
        )
        self.host.events.attach(self.happened.append)

    def _profile_of(self, device: Device) -> DeviceProfile:
        return self.profile

    async def _create_pipeline(self, transport: TransportBase, session_id: str) -> Pipeline:
        self.making += 1
        await self.ready.wait()
        return self._talk.pipeline()

    async def connect(self) -> ManualConnection:
        """Return the connection of a device whose session runs."""
        device = self.transport.connect()
        await self.session(device)
        return device

    async def session(self, device: ManualConnection) -> Session:
        """Wait until the connection's session runs."""
        async with asyncio.timeout(BOUND):
            while (session := self.host.sessions.get(device.session_id)) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        return session


@asynccontextmanager
async def hosted(
    talk: Conversation | None = None, cluster: Cluster | None = None
) -> AsyncIterator[Hosted]:
    """Run a host; at the end all devices vanish."""
    made = Hosted(
        talk or Conversation(tts=ScriptedTTS(seconds_per_char=0.01)), cluster or LocalCluster()
    )
    await made.host.start()
    try:
        yield made
    finally:
        await made.host.stop()
