"""Main of the process in which the stand-ins run, so that their work is not taken for ours."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Final

from vixio_bench.load.control import Hub, Json, Line, Peer, attend
from vixio_bench.load.processes import start_process
from vixio_bench.vendors.base import Delays, Times, VendorService
from vixio_bench.vendors.coze.service import CozeService
from vixio_bench.vendors.dashscope.service import DashScopeService
from vixio_bench.vendors.dify.service import DifyService
from vixio_bench.vendors.fastgpt.service import FastGPTService
from vixio_bench.vendors.knowledge.service import Document, KnowledgeService
from vixio_bench.vendors.minimax.service import MiniMaxService
from vixio_bench.vendors.own_voices.service import OwnVoices
from vixio_bench.vendors.volcengine.service import VolcengineService
from vixio_bench.vendors.xunfei.service import XunfeiService

SAID: Final = "今天北京的天气怎么样？"
"""What the recognisers hear in any sound."""
ANSWER: Final = "今天晴，二十五度。不用带伞。"
"""What the agents say."""
DATASET: Final = "house"
PASSAGE: Final = "The heating is serviced each October."

_SERVICES: Final[Mapping[str, type[VendorService]]] = {
    "volcengine": VolcengineService,
    "dashscope": DashScopeService,
    "xunfei": XunfeiService,
    "minimax": MiniMaxService,
    "own voices": OwnVoices,
    "dify": DifyService,
    "coze": CozeService,
    "fastgpt": FastGPTService,
    "knowledge": KnowledgeService,
}


@dataclass(frozen=True, slots=True)
class StandInsPlan:
    """What the process is to be."""

    line: Line
    delays: Delays

    def to_json(self) -> str:
        """Return the plan as the argument of the process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> StandInsPlan:
        """Read :meth:`to_json`'s text."""
        body = json.loads(text)
        return cls(Line(**body["line"]), Delays(**body["delays"]))


class StandIns:
    """The process, as the bench sees it. ``ports``: where each service listens."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.ports: Mapping[str, int] = peer.said["ports"]

    async def take(self, service: str) -> list[Times]:
        """Return when each use of a service came by since the last call. Raises BenchError."""
        answer = await self._peer.ask("take", service=service)
        return [Times(**each) for each in answer["times"]]

    async def violations(self) -> list[str]:
        """Return what our clients did that they must not do. Raises BenchError."""
        answer = await self._peer.ask("violations")
        found: list[str] = answer["violations"]
        return found


@asynccontextmanager
async def stand_ins(delays: Delays) -> AsyncIterator[StandIns]:
    """Run all services. Raises BenchError."""
    async with Hub() as hub:
        plan = StandInsPlan(hub.line("stand-ins"), delays)
        child = await start_process(hub, __name__, plan.to_json(), "stand-ins", 0)
        try:
            yield StandIns(child.peer)
        finally:
            await child.end()


async def serve(plan: StandInsPlan) -> None:
    """Answer until the bench hangs up."""

    def hear(pcm: bytes) -> str:
        return SAID if pcm else ""

    made = {name: make(plan.delays, hear=hear) for name, make in _SERVICES.items()}
    for each in made.values():
        match each:
            case DifyService() | CozeService() | FastGPTService():
                each.reply = lambda query: ANSWER
            case VolcengineService():
                each.most = 100
            case KnowledgeService():
                each.documents = [Document(DATASET, "heating.pdf", PASSAGE)]

    async def take(asked: Json) -> Json:
        times = made[asked["service"]].times
        taken = [asdict(each) for each in times]
        times.clear()
        return {"times": taken}

    async def violations(_: Json) -> Json:
        found = [
            f"{name}: {each}"
            for name, service in made.items()
            for each in service.account.violations
        ]
        return {"violations": found}

    async with AsyncExitStack() as running:
        for each in made.values():
            await running.enter_async_context(each)
        said = {"ports": {name: each.port for name, each in made.items()}}
        await attend(plan.line, {"take": take, "violations": violations}, said)


def main(argv: list[str]) -> None:
    """Run the process; the one argument is a :class:`StandInsPlan` as JSON."""
    try:
        asyncio.run(serve(StandInsPlan.from_json(argv[0])))
    except KeyboardInterrupt:
        pass  # Ctrl-C reaches every process of the terminal; the bench says what there is to say


if __name__ == "__main__":
    main(sys.argv[1:])
