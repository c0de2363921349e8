"""Main of the stand-ins' process: all services that the providers under test need."""

from __future__ import annotations

import asyncio
import json
import sys
from array import array
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Final

from vixio_bench.load.control import Json, Line, attend
from vixio_bench.load.providers import make_speech
from vixio_bench.load.services.choice import EDGE, FUNASR_SERVER, HTTP, has
from vixio_bench.load.services.edge import EdgeService
from vixio_bench.load.services.funasr import FunASRService
from vixio_bench.load.services.http import HttpService
from vixio_bench.load.services.openai import OpenAIService
from vixio_bench.load.services.websocket import WebSocketService
from vixio_bench.load.usage import LoopLag, Spread, look, pin

_OTHERS: Final[Mapping[str, type[WebSocketService]]] = {
    FUNASR_SERVER: FunASRService,
    EDGE: EdgeService,
}


@dataclass(frozen=True, slots=True)
class ServicesPlan:
    """What the process is to be. ``tool``: the device's tool that the model calls in each turn.

    ``providers``: those under test (:mod:`vixio_bench.load.services.choice`).
    """

    line: Line
    providers: str = HTTP
    cores: tuple[int, ...] = ()
    tool: str = ""

    def to_json(self) -> str:
        """Return the plan as the argument of the process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ServicesPlan:
        """Read :meth:`to_json`'s text."""
        body = json.loads(text)
        return cls(Line(**body["line"]), body["providers"], tuple(body["cores"]), body["tool"])


async def serve(plan: ServicesPlan) -> None:
    """Answer requests until the bench hangs up."""
    speech = await asyncio.to_thread(make_speech)
    http = HttpService(OpenAIService(speech, plan.tool))
    others = {name: make() for name, make in _OTHERS.items() if has(plan.providers, name)}
    services: tuple[HttpService | WebSocketService, ...] = (http, *others.values())
    lag = LoopLag()

    async def begin(_: Json) -> Json:
        for service in services:
            service.answered_ms = array("f")
        lag.reset()
        return asdict(look())

    async def figures(_: Json) -> Json:
        return {
            "now": asdict(look()),
            "answered_ms": asdict(Spread.of(chain(*(service.answered_ms for service in services)))),
            "loop_lag_ms": asdict(Spread.of(lag.lags)),
        }

    said = {HTTP: f"http://127.0.0.1:{await http.start()}/v1"}
    said |= {name: await service.start() for name, service in others.items()}
    lag.start()
    try:
        await attend(plan.line, {"begin": begin, "figures": figures}, said)
    finally:
        await lag.stop()
        http.stop()
        await asyncio.gather(*(service.stop() for service in others.values()))


def main(argv: list[str]) -> None:
    """Run the process; the one argument is a :class:`ServicesPlan` as JSON."""
    plan = ServicesPlan.from_json(argv[0])
    pin(plan.cores)
    try:
        asyncio.run(serve(plan))
    except KeyboardInterrupt:
        pass  # Ctrl-C reaches every process of the terminal; the bench says what there is to say


if __name__ == "__main__":
    main(sys.argv[1:])
