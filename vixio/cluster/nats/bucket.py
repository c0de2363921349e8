"""A bucket of JetStream: the last value of each key, changed by whoever knows its revision.

A bucket is a stream ``KV_<bucket>`` of the subjects ``$KV.<bucket>.<key>`` (NATS ADR-8), so
``nats kv`` shows it. A key that is removed leaves no marker behind: revisions belong to the stream
and go on rising.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import nats.errors
from nats.js import errors as js
from nats.js.api import DiscardPolicy, Header, StreamConfig

from vixio.bus.errors import BrokerError
from vixio.cluster.nats.link import JETSTREAM_S, Link
from vixio.cluster.nats.names import encode
from vixio.core.errors import ConfigError

_WRONG_REVISION: Final = 10_071
"""JetStream's error code: the subject's last message is another one (NATS ADR-7)."""

_NAME_IN_USE: Final = 10_058
"""JetStream's error code: there is such a stream, of another configuration."""

_EPOCH: Final = datetime(2020, 1, 1, tzinfo=UTC)
_REVISION_BITS: Final = 34


class WrongRevision(Exception):
    """The key has been changed since."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A key's value and its revision."""

    value: bytes
    revision: int


class Bucket:
    """One bucket, made by the first node. ``max_age``: seconds that a value is kept, 0: for ever.

    ``max_bytes``: over it the oldest values go, 0: no limit. ``replicas``: servers that keep it.
    """

    def __init__(
        self, link: Link, name: str, *, max_age: int = 0, max_bytes: int = 0, replicas: int = 1
    ) -> None:
        self._link = link
        self._name = name
        self._stream = f"KV_{name}"
        self._config = StreamConfig(
            name=self._stream,
            subjects=[f"$KV.{name}.>"],
            max_msgs_per_subject=1,
            max_age=max_age,
            max_bytes=max_bytes or -1,
            discard=DiscardPolicy.OLD,
            num_replicas=replicas,
            # Values are read from the leader: a claim must see the one before.
            allow_direct=False,
            allow_rollup_hdrs=True,
        )
        self.epoch = 0
        """Rises with each bucket that is made, in front of the revisions of the last one."""

    @property
    def connected(self) -> bool:
        """Whether there is a bus."""
        return self._link.connected

    async def open(self) -> None:
        """Make the bucket if there is none. Raises BrokerError, ConfigError."""
        manager = self._link.jetstream
        with _as_broker_error():
            try:
                info = await manager.add_stream(self._config)
            except js.BadRequestError as error:
                if error.err_code != _NAME_IN_USE:
                    raise
                # Made with other settings, such as by hand: it serves as well.
                info = await manager.stream_info(self._stream)
                if (info.config.num_replicas or 1) < (self._config.num_replicas or 1):
                    # There were fewer servers when it was made.
                    more = info.config.evolve(num_replicas=self._config.num_replicas)
                    info = await manager.update_stream(more)
            if (info.config.max_msgs_per_subject or 0) != 1:
                raise ConfigError(
                    f"the bucket {self._name} on NATS keeps a history, of which the cluster has no "
                    "use: remove it (`nats kv del`) and start again"
                )
        made = info.created or _EPOCH
        self.epoch = max(0, (made - _EPOCH) // timedelta(microseconds=1))

    def number(self, revision: int) -> int:
        """Return a number that rises with each change, even if the bucket was made anew."""
        return (self.epoch << _REVISION_BITS) | revision

    async def get(self, key: str) -> Entry | None:
        """Return a key's value. Raises BrokerError."""
        with _as_broker_error():
            try:
                found = await self._link.jetstream.get_msg(self._stream, subject=self._subject(key))
            except js.NotFoundError:
                return None
        return Entry(found.data or b"", found.seq or 0)

    async def put(self, key: str, value: bytes, revision: int) -> int:
        """Change the value of ``revision``, 0: there is none; return the new revision.

        Raises WrongRevision, BrokerError.
        """
        headers = {Header.EXPECTED_LAST_SUBJECT_SEQUENCE.value: str(revision)}
        with _as_broker_error():
            try:
                ack = await self._link.jetstream.publish(
                    self._subject(key), value, timeout=JETSTREAM_S, headers=headers
                )
            except js.APIError as error:
                if error.err_code == _WRONG_REVISION:
                    raise WrongRevision from None
                raise
        return ack.seq

    async def remove(self, key: str, revision: int) -> None:
        """Remove a key, unless it has been changed since ``revision``. Raises BrokerError."""
        with _as_broker_error():
            await self._link.jetstream.purge_stream(
                self._stream, seq=revision + 1, subject=self._subject(key)
            )

    def _subject(self, key: str) -> str:
        return f"$KV.{self._name}.{encode(key)}"


@contextmanager
def _as_broker_error() -> Iterator[None]:
    try:
        yield
    except js.ServiceUnavailableError as error:
        if error.description is None:  # nobody takes requests to JetStream
            raise BrokerError(
                "this NATS server keeps no data: run nats-server with JetStream (-js)", final=True
            ) from None
        raise BrokerError(f"JetStream is not available: {error.description}") from error
    except (nats.errors.TimeoutError, TimeoutError):
        raise BrokerError(f"JetStream does not answer within {JETSTREAM_S:g} s") from None
    except (nats.errors.Error, OSError) as error:
        raise BrokerError(f"JetStream refuses: {error}") from error
