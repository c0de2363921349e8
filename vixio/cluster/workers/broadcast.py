"""What a worker process tells all others; the coordinator passes it on."""

from __future__ import annotations

from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.messages import Kind
from vixio.core.cluster import Broadcast, OnBroadcast
from vixio.core.tools.types import JsonObject


class WorkerBroadcast(Broadcast):
    """Messages that find the channel full are dropped: what cannot wait goes by it, too."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._listeners: dict[str, OnBroadcast] = {}

    def send(self, topic: str, body: JsonObject) -> None:
        """Send to all other processes."""
        if not self._channel.busy:
            self._channel.send(Kind.BROADCAST, topic=topic, body=body)

    def on_message(self, topic: str, receive: OnBroadcast) -> None:
        """Have ``receive`` called with what other processes send."""
        self._listeners[topic] = receive

    # ── the channel's side ───────────────────────────────────────────────────────────────────

    def received(self, topic: str, body: JsonObject) -> None:
        """Pass on what another process has sent."""
        if listener := self._listeners.get(topic):
            listener(body)
