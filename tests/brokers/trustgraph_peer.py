"""A tool service and a caller on RabbitMQ with TrustGraph's base library, and nothing of Vixio.

Run in a process of its own: ``serve PORT NAME``, ``call PORT NAME ARGUMENTS`` or ``stream …``. It
prints a JSON value a line.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from trustgraph.base.async_processor import AsyncProcessor  # type: ignore[import-not-found]
from trustgraph.base.async_rabbitmq_backend import (  # type: ignore[import-not-found]
    AsyncRabbitMQBackend,
)
from trustgraph.base.dynamic_tool_service import (  # type: ignore[import-not-found]
    DynamicToolService,
)
from trustgraph.base.request_response_client import (  # type: ignore[import-not-found]
    RequestResponseClient,
)
from trustgraph.base.tool_service_client import (  # type: ignore[import-not-found]
    ToolServiceClient,
)
from trustgraph.schema import (  # type: ignore[import-not-found]
    ToolServiceRequest,
    ToolServiceResponse,
)

LIMIT = 60.0
CONFIG = {"style": "pun"}


class JokeService(DynamicToolService):  # type: ignore[misc]
    """Answers with what it was asked, with an error, or in pieces."""

    async def start(self) -> None:
        """Serve the queue.

        The base class names it by its Pulsar topic, which the library's RabbitMQ does not know.
        """
        await AsyncProcessor.start(self)
        self._producer_handle = await self.sender_pool.add_producer(
            topic=f"response:tg:{self._topic}", schema=ToolServiceResponse
        )

        async def take(message: Any) -> None:  # noqa: ANN401 - the library's
            await self.on_request(message, None, None)

        self._consumer_reg = await self.receiver_pool.add_consumer(
            topic=f"request:tg:{self._topic}",
            subscription=f"{self.id}-request",
            schema=ToolServiceRequest,
            handler=take,
        )
        say("serving")

    async def on_request(self, message: Any, consumer: Any, flow: Any) -> None:  # noqa: ANN401
        """Answer in pieces where that is asked for, which the base class cannot."""
        pieces = json.loads(message.value().arguments).get("pieces", [])
        for piece in pieces:
            await self._producer_handle.send(
                ToolServiceResponse(response=piece, end_of_stream=piece == pieces[-1]),
                properties={"id": message.properties()["id"]},
            )
        if not pieces:
            await super().on_request(message, consumer, flow)

    async def invoke(self, config: dict[str, Any], arguments: dict[str, Any]) -> object:
        """Answer with what was asked."""
        if "fail" in arguments:
            raise ValueError(arguments["fail"])
        return [config, arguments]


class Client(ToolServiceClient, RequestResponseClient):  # type: ignore[misc]
    """Calls a tool service."""


def say(value: object) -> None:
    """Print a value."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


async def serve(port: int, name: str) -> None:
    """Serve until the process ends."""
    service = JokeService(
        id="joke-service",
        topic=name,
        pubsub_backend="rabbitmq",
        rabbitmq_host="127.0.0.1",
        rabbitmq_port=port,
    )
    await service.start()
    await service.run()


async def call(port: int, name: str, arguments: dict[str, Any], *, stream: bool) -> None:
    """Call a service and print its answer, or the pieces of it."""
    backend = AsyncRabbitMQBackend("127.0.0.1", port)
    client = await Client.create(
        backend,
        f"request:tg:{name}",
        f"response:tg:{name}",
        ToolServiceRequest,
        ToolServiceResponse,
    )
    if stream:
        request = ToolServiceRequest(json.dumps(CONFIG), json.dumps(arguments))
        async for answer in client.request_stream(request, timeout=LIMIT):
            say([answer.response, answer.end_of_stream])
            if answer.end_of_stream:
                break
    else:
        try:
            say({"response": await client.call(CONFIG, arguments, timeout=LIMIT)})
        except RuntimeError as error:
            say({"error": str(error)})
    await client.close()
    await backend.close()


def main(command: str, port: str, name: str, arguments: str = "{}") -> None:
    """Do what the command line says."""
    if command == "serve":
        asyncio.run(serve(int(port), name))
    else:
        asyncio.run(call(int(port), name, json.loads(arguments), stream=command == "stream"))


if __name__ == "__main__":
    main(*sys.argv[1:])
