"""A bus of tool services: requests and answers over a message broker.

A service answers requests from a queue; a caller finds it by the name of the queue. The wire is
that of TrustGraph's tool services: the body of a request is ``{user, config, arguments}``, that of
an answer ``{error, response, end_of_stream}``, and both are matched by the header ``id``. What is
added stands in further headers and queues (:mod:`vixio.bus.wire`), so that services and callers
that are written against the original work unchanged.

A service is a class with one method::

    class JokeService(DynamicToolService):
        id = "joke-service"

        async def invoke(self, user, config, arguments):
            return f"Knock, knock, {user or 'stranger'}."

``vixio tool-service module:JokeService --url nats://127.0.0.1`` runs it. This package needs of
Vixio only ``vixio.core``, and of other packages only the client of the broker that is used.
"""

from vixio.bus.bus import ToolBus
from vixio.bus.connect import connect
from vixio.bus.service import DynamicToolService
from vixio.core.errors import ToolError

__all__ = ["DynamicToolService", "ToolBus", "ToolError", "connect"]
