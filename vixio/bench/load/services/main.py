"""Main of the stand-ins' process: all services that the providers under test need."""

from __future__ import annotations

import asyncio
import json
import sys
from array import array
from dataclasses import asdict, dataclass

from vixio.bench.load.control import Json, Line, attend
from vixio.bench.load.providers import make_speech
from vixio.bench.load.services.http import HttpService
from vixio.bench.load.services.openai import OpenAIService
from vixio.bench.load.usage import LoopLag, Spread, look, pin


@dataclass(frozen=True, slots=True)
class ServicesPlan:
    """What the process is to be. ``tool``: the device's tool that the model calls in each turn."""

    line: Line
    cores: tuple[int, ...] = ()
    tool: str = ""

    def to_json(self) -> str:
        """Return the plan as the argument of the process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ServicesPlan:
        """Read :meth:`to_json`'s text."""
        body = json.loads(text)
        return cls(Line(**body["line"]), tuple(body["cores"]), body["tool"])


async def serve(plan: ServicesPlan) -> None:
    """Answer requests until the bench hangs up."""
    speech = await asyncio.to_thread(make_speech)
    http = HttpService(OpenAIService(speech, plan.tool))
    lag = LoopLag()

    async def begin(_: Json) -> Json:
        http.answered_ms = array("f")
        lag.reset()
        return asdict(look())

    async def figures(_: Json) -> Json:
        return {
            "now": asdict(look()),
            "answered_ms": asdict(Spread.of(http.answered_ms)),
            "loop_lag_ms": asdict(Spread.of(lag.lags)),
        }

    port = await http.start()
    lag.start()
    try:
        handlers = {"begin": begin, "figures": figures}
        await attend(plan.line, handlers, {"url": f"http://127.0.0.1:{port}/v1"})
    finally:
        await lag.stop()
        http.stop()


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
