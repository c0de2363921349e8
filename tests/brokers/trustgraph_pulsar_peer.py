"""A tool service and a caller written with TrustGraph's base library alone.

Run as a script, with that library and its client of Pulsar as the only packages::

    trustgraph_pulsar_peer.py serve URL TOPIC
    trustgraph_pulsar_peer.py call URL TOPIC

It prints a line of JSON after the word ``peer`` for each result: the client of Pulsar logs to
standard output too.
"""

# TrustGraph's library is not installed beside Vixio.
# mypy: disable-error-code="import-not-found,misc"

from __future__ import annotations

import asyncio
import json
import sys
import threading
from typing import Any

from trustgraph.base import DynamicToolService
from trustgraph.base.backend import PubSubBackend
from trustgraph.base.pubsub import get_pubsub
from trustgraph.base.tool_service_client import ToolServiceClient
from trustgraph.schema import (
    ConfigRequest,
    ConfigResponse,
    ToolServiceRequest,
    ToolServiceResponse,
    config_request_queue,
    config_response_queue,
)

LIMIT_S = 60


def say(what: object) -> None:
    """Print a result."""
    sys.stdout.write(f"peer {json.dumps(what)}\n")
    sys.stdout.flush()


class Peer(DynamicToolService):
    """Answers with its request, fails, or answers in pieces."""

    async def invoke(self, user: str, config: dict[str, Any], arguments: dict[str, Any]) -> object:
        """Answer with the request."""
        if "fail" in arguments:
            raise RuntimeError(arguments["fail"])
        return {"user": user, "config": config, "arguments": arguments}

    async def on_request(self, msg: Any, consumer: Any, flow: Any) -> None:  # noqa: ANN401 - theirs
        """Stream where it is asked to: the base class knows no answer in pieces."""
        pieces = json.loads(msg.value().arguments or "{}").get("pieces")
        if pieces is None:
            await super().on_request(msg, consumer, flow)
            return
        name = msg.properties()["id"]
        for number in range(pieces):
            piece = ToolServiceResponse(response=f"{number} ", end_of_stream=False)
            await self.producer.send(piece, properties={"id": name})
        end = ToolServiceResponse(response="end", end_of_stream=True)
        await self.producer.send(end, properties={"id": name})


def configure(backend: PubSubBackend) -> None:
    """Answer requests for the configuration, which a service waits for before it serves.

    In an installation of TrustGraph that is another service.
    """
    consumer = backend.create_consumer(config_request_queue, "config", ConfigRequest)
    producer = backend.create_producer(config_response_queue, ConfigResponse)

    def answer() -> None:
        while True:
            try:
                message = consumer.receive(timeout_millis=1000)
            except TimeoutError:
                continue
            name = message.properties()["id"]
            producer.send(ConfigResponse(version=1, config={}), properties={"id": name})
            consumer.acknowledge(message)

    threading.Thread(target=answer, daemon=True).start()


async def serve(url: str, topic: str) -> None:
    """Serve until the process is ended."""
    configure(get_pubsub(pulsar_host=url))
    say("starts")
    await Peer.launch_async({"id": "peer", "topic": topic, "pulsar_host": url})


async def call(url: str, topic: str) -> None:
    """Call a service: once, for an error, and for an answer in pieces."""
    client = ToolServiceClient(
        backend=get_pubsub(pulsar_host=url),
        subscription=f"peer-{topic}",
        consumer_name="peer",
        request_topic=f"non-persistent://tg/request/{topic}",
        request_schema=ToolServiceRequest,
        request_metrics=None,
        response_topic=f"non-persistent://tg/response/{topic}",
        response_schema=ToolServiceResponse,
        response_metrics=None,
    )
    await client.start()
    config, arguments = {"style": "pun"}, {"topic": "Käse", "n": 5}
    say(await client.call("alice", config, arguments, timeout=LIMIT_S))
    try:
        await client.call("alice", config, {"fail": "no cheese"}, timeout=LIMIT_S)
    except RuntimeError as error:
        say(f"error: {error}")
    pieces: list[str] = []

    async def take(piece: str) -> None:
        pieces.append(piece)

    whole = await client.call_streaming("alice", {}, {"pieces": 5}, take, timeout=LIMIT_S)
    say([whole, pieces])
    say(await client.call("alice", {}, {"slow": True}, timeout=LIMIT_S))
    await client.stop()


if __name__ == "__main__":
    asyncio.run({"serve": serve, "call": call}[sys.argv[1]](*sys.argv[2:]))
