"""Names of queues, in the two spellings of the tool-service description.

``non-persistent://tg/request/joke`` (a Pulsar topic) and ``request:tg:joke`` are the same queue.
The brokers other than Pulsar know it as ``tg.request.joke``, which is also the name of the exchange
that TrustGraph uses for it on RabbitMQ.
"""

from __future__ import annotations

import re
from typing import Final

MAX_CHARS: Final = 200
"""RabbitMQ allows 255 bytes; some are added to a name."""

_PERSISTENCE: Final = {
    "flow": "persistent",
    "request": "non-persistent",
    "response": "non-persistent",
    "notify": "non-persistent",
}
"""Class of a queue → scheme of its topic, as TrustGraph maps them."""

_TOPIC: Final = re.compile(r"(?:non-)?persistent://([^/]+)/([^/]+)/([^/]+)")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
"""No wildcards and no empty part: NATS gives both a meaning."""


def canonical(queue: str) -> str:
    """Return the name of a queue in the form ``tg.request.joke``.

    Raises ValueError if it is not the name of a queue.
    """
    topic = _TOPIC.fullmatch(queue)
    if topic is not None:
        name = ".".join(topic.groups())
    elif queue.count(":") == 2 and "/" not in queue:
        kind, space, last = queue.split(":")
        if kind not in _PERSISTENCE:
            raise ValueError(f"{queue!r} begins with none of {', '.join(_PERSISTENCE)}")
        name = f"{space}.{kind}.{last}"
    else:
        name = queue
    if not _NAME.fullmatch(name) or len(name) > MAX_CHARS:
        raise ValueError(
            f"{queue[:MAX_CHARS]!r} is not the name of a queue; expected "
            "non-persistent://tg/request/NAME, request:tg:NAME or letters, digits, _, - and ."
        )
    return name


def topic(queue: str) -> str:
    """Return the Pulsar topic of a queue; a topic is returned as it is.

    Raises ValueError if it is not the name of a queue.
    """
    canonical(queue)
    if "://" in queue:
        return queue
    if ":" in queue:
        kind, space, last = queue.split(":")
        return f"{_PERSISTENCE[kind]}://{space}/{kind}/{last}"
    return f"non-persistent://public/default/{queue}"


def beside(queue: str, what: str) -> str:
    """Return the name of a queue that belongs to ``queue``: ``….cancel``."""
    return f"{queue}.{what}"
