"""The plain list of stations. It is no graph: two halves that meet in one value, ``UserTurn``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from vixio.core.chunk import Chunk, TextDelta, UserTurn
from vixio.core.clock import now as clock_now
from vixio.core.station import ListeningStation, ReplyStation, Station, StationContext

Output = Callable[[Chunk], Awaitable[None]]


class Pipeline:
    """The stations of one session, in the order in which audio passes them.

    Raises ValueError when a listening station stands behind a replying one.
    """

    def __init__(self, stations: Sequence[Station]) -> None:
        self.stations = tuple(stations)
        self._listening: list[ListeningStation] = []
        self._replying: list[ReplyStation] = []
        for station in self.stations:
            if isinstance(station, ReplyStation):
                self._replying.append(station)
            elif isinstance(station, ListeningStation) and not self._replying:
                self._listening.append(station)
            else:
                raise ValueError(
                    f"{type(station).__name__} cannot stand here: first the listening stations, "
                    "then the replying ones"
                )
        self._timed = [
            station
            for station in self._listening
            if type(station).deadline is not ListeningStation.deadline
        ]
        """The listening stations that have deadlines."""
        self._output: Output | None = None

    def bind(self, context: StationContext, output: Output) -> None:
        """Attach the session: ``output`` receives what leaves the listening half."""
        self._output = output
        for index, station in enumerate(self._listening):
            station.bind(context, self._emitter(index + 1))
        for reply_station in self._replying:
            reply_station.bind(context, self._emitter(len(self._listening)))

    async def feed(self, chunk: Chunk, now: float) -> None:
        """Send a chunk through the listening half."""
        await self._pass_on((chunk,), 0, now)

    @property
    def deadline(self) -> float | None:
        """When :meth:`expire` has to be called if nothing is fed before."""
        earliest: float | None = None
        for station in self._timed:
            deadline = station.deadline
            if deadline is not None and (earliest is None or deadline < earliest):
                earliest = deadline
        return earliest

    async def expire(self, now: float) -> None:
        """Let every station whose deadline has passed act on it."""
        for index, station in enumerate(self._listening):
            deadline = station.deadline
            if deadline is not None and deadline <= now:
                await self._pass_on(await station.expire(now), index + 1, now)

    @property
    def answers_ahead(self) -> bool:
        """Whether every replying station bears a turn that is answered ahead."""
        return all(station.answers_ahead for station in self._replying)

    def reply(self, turn: UserTurn) -> AsyncIterator[Chunk]:
        """Return the stream of the reply to ``turn``; closing it stops all work on it."""
        return self._compose(turn)

    def speak(self, turn_id: int, text: str, *, recurring: bool = False) -> AsyncIterator[Chunk]:
        """Return the stream that says ``text`` in the assistant's voice, past the agent.

        ``recurring``: it will be said again, so its audio may be kept.
        """
        return self._compose(TextDelta(turn_id, text, recurring=recurring))

    async def close(self) -> None:
        """Close the stations, last first."""
        for station in reversed(self.stations):
            await station.close()

    def _compose(self, first: Chunk) -> AsyncIterator[Chunk]:
        stream = _one(first)
        for station in self._replying:
            stream = station.run(stream)
        return stream

    async def _pass_on(self, chunks: Sequence[Chunk], index: int, now: float) -> None:
        for station in self._listening[index:]:
            if not chunks:
                return
            if len(chunks) == 1:
                chunks = await station.feed(chunks[0], now)
            else:
                made: list[Chunk] = []
                for chunk in chunks:
                    made.extend(await station.feed(chunk, now))
                chunks = made
        if self._output is not None:
            for chunk in chunks:
                await self._output(chunk)

    def _emitter(self, index: int) -> Callable[[Sequence[Chunk]], Awaitable[None]]:
        async def emit(chunks: Sequence[Chunk]) -> None:
            await self._pass_on(chunks, index, clock_now())

        return emit


async def _one(chunk: Chunk) -> AsyncIterator[Chunk]:
    yield chunk
