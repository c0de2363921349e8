"""A fault of a vendor's account: the stand-in that has it, and the settings that meet it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from vixio_bench.vendors.base import VendorService
from vixio_bench.vendors.coze import service as coze
from vixio_bench.vendors.dashscope import service as dashscope
from vixio_bench.vendors.dify import service as dify
from vixio_bench.vendors.knowledge import service as knowledge
from vixio_bench.vendors.minimax import service as minimax
from vixio_bench.vendors.own_voices import service as own_voices
from vixio_bench.vendors.volcengine import service as volcengine
from vixio_bench.vendors.xunfei import service as xunfei

WRONG: Final = "wrong-key-of-a-person-0123456789"
"""A key that no message may quote."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault. ``part``: of the settings; ``given``: its options beside those of the stand-in."""

    vendor: str
    part: str
    name: str
    given: Mapping[str, Any]
    says: str
    """What is wrong: the words of the line that docs/zh/faults.md explains."""
    page: str
    """Where it is mended: a page of the vendor's, or the option where there is none."""
    troubles: Sequence[str] = ()
    code: Any = None
    """By which every question is refused (agents)."""
    clock: timedelta = timedelta()
    """By how much the vendor's clock is ahead of ours."""
    down: bool = False

    def service(self) -> VendorService:
        """Return the stand-in, which has the fault as soon as it listens."""
        if self.vendor == "xunfei":
            return xunfei.XunfeiService(clock=lambda: datetime.now(UTC) + self.clock)
        service = _SERVICES[self.vendor]()
        if self.code is not None:
            service.code = self.code  # type: ignore[attr-defined]  # of agents
        if isinstance(service, knowledge.KnowledgeService):
            service.documents = [knowledge.Document("house", "a.md", "vixio")]
        return service

    def settings(self, service: Any) -> dict[str, Any]:  # noqa: ANN401 - any stand-in
        """Return the part of the settings."""
        return {**_OPTIONS[self.vendor](service, self.part, self.given), **self.given}


_SERVICES: Final[Mapping[str, Callable[[], VendorService]]] = {
    "volcengine": volcengine.VolcengineService,
    "dashscope": dashscope.DashScopeService,
    "minimax": minimax.MiniMaxService,
    "http": own_voices.OwnVoices,
    "dify": dify.DifyService,
    "coze": coze.CozeService,
    "ragflow": knowledge.KnowledgeService,
    "dify-knowledge": knowledge.KnowledgeService,
}


def _volcengine(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    urls = {"url": service.asr_url if part == "asr" else service.tts_url}
    if given.get("way") == "http":
        urls["http_url"] = service.http_url
    return {"name": "volcengine", "api_key": volcengine.KEY, **urls}


def _dashscope(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    realtime = str(given.get("model", "")).startswith("qwen")
    url = service.sessions_url if realtime else service.tasks_url
    return {"name": "dashscope", "api_key": dashscope.KEY, "url": url}


def _xunfei(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    keys = {"app_id": xunfei.APP_ID, "api_key": xunfei.KEY, "api_secret": xunfei.SECRET}
    url = service.voice_url if part == "tts" else service.model_url
    url = service.old_url if given.get("product") == "iat" else url
    return {"name": "xunfei", **keys, "url": url}


def _minimax(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    return {"name": "minimax", "api_key": minimax.KEY, "base_url": service.base_url}


def _http(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    return {"name": "http", "url": service.url(given["preset"])}


def _dify(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    return {"name": "dify", "api_key": dify.KEY, "base_url": service.base_url}


def _coze(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    return {
        "name": "coze",
        "api_key": coze.KEY,
        "base_url": service.base_url,
        "bot_id": coze.BOT,
    }


def _knowledge(kind: str) -> Callable[[Any, str, Mapping[str, Any]], dict[str, Any]]:
    def options(service: Any, part: str, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
        return {
            "name": "papers",
            "type": "knowledge",
            "service": kind,
            "base_url": service.http,
            "api_key": knowledge.KEY,
            "datasets": ["house"],
        }

    return options


_OPTIONS: Final[Mapping[str, Callable[[Any, str, Mapping[str, Any]], dict[str, Any]]]] = {
    "volcengine": _volcengine,
    "dashscope": _dashscope,
    "xunfei": _xunfei,
    "minimax": _minimax,
    "http": _http,
    "dify": _dify,
    "coze": _coze,
    "ragflow": _knowledge("ragflow"),
    "dify-knowledge": _knowledge("dify"),
}


def made(vendor: str, part: str, name: str, says: str, page: str, **more: Any) -> Fault:  # noqa: ANN401
    keys = {
        "given",
        "troubles",
        "code",
        "clock",
        "down",
    }
    given = more.pop("given", {}) | {key: more.pop(key) for key in list(more) if key not in keys}
    return Fault(vendor=vendor, part=part, name=name, says=says, page=page, given=given, **more)
