"""The providers of the services in China, as the settings have them, on their stand-ins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from vixio.providers.registry import resolve
from vixio_bench.vendor_times.stand_ins import DATASET
from vixio_bench.vendors.coze import service as coze
from vixio_bench.vendors.dashscope import service as dashscope
from vixio_bench.vendors.dify import service as dify
from vixio_bench.vendors.fastgpt import service as fastgpt
from vixio_bench.vendors.knowledge import service as knowledge
from vixio_bench.vendors.minimax import service as minimax
from vixio_bench.vendors.own_voices import service as own_voices
from vixio_bench.vendors.volcengine import service as volcengine
from vixio_bench.vendors.xunfei import service as xunfei

Section = dict[str, Any]

CONNECTIONS: Final = 16
"""That the account may have, where the settings say so."""


BARE: Final = "(bare)"
"""No provider: a service that is used without a client of ours."""


@dataclass(frozen=True, slots=True)
class Provider:
    """``kind``: a section of the settings, ``knowledge``, or :data:`BARE`. ``way``: which of its
    services."""

    kind: str
    name: str
    way: str
    service: str
    section: Section

    @property
    def title(self) -> str:
        """What the tables call it."""
        return f"{self.name} {self.way}".strip()

    def create(self) -> Any:  # noqa: ANN401 - by the kind
        """Return the provider, not started."""
        options = {name: value for name, value in self.section.items() if name != "name"}
        factory = resolve(self.kind, self.name)
        return factory.create(factory.settings_model.model_validate(options))


class Places:
    """The sections of the settings for services at these ports."""

    def __init__(self, ports: Mapping[str, int]) -> None:
        self._ports = ports

    def every(self) -> list[Provider]:
        """Return each provider in each of its ways."""
        return [*self._ears(), *self._voices(), *self._agents(), *self._knowledge()]

    def bare(self) -> list[Provider]:
        """Return what they are compared with."""
        listens = {
            "url": f"{self._ws('volcengine')}{volcengine.ASR_PATH}/bigmodel_async",
            "key": volcengine.KEY,
            "resource": volcengine.ASR_RESOURCES[0],
        }
        speaks = {
            "port": self._ports["own voices"],
            "path": own_voices.PATHS["index-tts"],
            "voice": own_voices.VOICES[0],
        }
        return [
            Provider(BARE, "WebSocket", "opened anew", "volcengine", listens),
            Provider(BARE, "HTTP", "kept connection", "own voices", speaks),
        ]

    def named(self, kind: str, name: str, way: str) -> Provider:
        """Return one of them."""
        return next(
            each for each in self.every() if (each.kind, each.name, each.way) == (kind, name, way)
        )

    @property
    def model(self) -> Section:
        """A model that keeps no conversations."""
        url = self._http("fastgpt") + fastgpt.PATH
        return {"name": "openai", "model": "m", "base_url": url, "api_key": fastgpt.KEY}

    def _http(self, service: str) -> str:
        return f"http://127.0.0.1:{self._ports[service]}"

    def _ws(self, service: str) -> str:
        return f"ws://127.0.0.1:{self._ports[service]}"

    def _dashscope(self, model: str) -> Section:
        path = dashscope.SESSIONS_PATH if model.startswith("qwen") else dashscope.TASKS_PATH
        return {
            "name": "dashscope",
            "api_key": dashscope.KEY,
            "url": self._ws("dashscope") + path,
            "model": model,
        }

    def _ears(self) -> Iterator[Provider]:
        for endpoint in ("bigmodel_async", "bigmodel", "bigmodel_nostream"):
            section = {
                "name": "volcengine",
                "api_key": volcengine.KEY,
                "url": self._ws("volcengine") + volcengine.ASR_PATH,
                "endpoint": endpoint,
            }
            yield Provider("asr", "volcengine", endpoint, "volcengine", section)
        for model in ("fun-asr-realtime", "paraformer-realtime-v2", "qwen3-asr-flash-realtime"):
            yield Provider("asr", "dashscope", model, "dashscope", self._dashscope(model))
        for product in ("slm", "dialects", "iat"):
            path = xunfei.OLD_PATH if product == "iat" else xunfei.MODEL_PATH
            section = {**self._xunfei(path), "product": product}
            yield Provider("asr", "xunfei", product, "xunfei", section)

    def _xunfei(self, path: str) -> Section:
        return {
            "name": "xunfei",
            "app_id": xunfei.APP_ID,
            "api_key": xunfei.KEY,
            "api_secret": xunfei.SECRET,
            "url": self._ws("xunfei") + path,
            "concurrency": CONNECTIONS,
        }

    def _voices(self) -> Iterator[Provider]:
        for way in ("bidirectional", "http"):
            section = {
                "name": "volcengine",
                "api_key": volcengine.KEY,
                "url": self._ws("volcengine") + volcengine.TTS_PATH,
                "http_url": self._http("volcengine") + volcengine.HTTP_PATH,
                "way": way,
                "concurrency": CONNECTIONS,
            }
            yield Provider("tts", "volcengine", way, "volcengine", section)
        for model in ("cosyvoice-v3-flash", "qwen3-tts-flash-realtime"):
            section = {**self._dashscope(model), "concurrency": CONNECTIONS}
            yield Provider("tts", "dashscope", model, "dashscope", section)
        yield Provider("tts", "xunfei", "", "xunfei", self._xunfei(xunfei.VOICE_PATH))
        section = {
            "name": "minimax",
            "base_url": self._http("minimax") + "/v1",
            "api_key": minimax.KEY,
            "group_id": minimax.GROUP,
        }
        yield Provider("tts", "minimax", "", "minimax", section)
        for preset, options in _PRESETS.items():
            url = self._http("own voices") + own_voices.PATHS[preset]
            section = {"name": "http", "preset": preset, "url": url, **options}
            yield Provider("tts", "http", preset, "own voices", section)

    def _agents(self) -> Iterator[Provider]:
        section = {
            "name": "dify",
            "base_url": self._http("dify") + "/v1",
            "api_key": dify.KEY,
        }
        yield Provider("agent", "dify", "", "dify", section)
        section = {
            "name": "coze",
            "base_url": self._http("coze"),
            "api_key": coze.KEY,
            "bot_id": coze.BOT,
        }
        yield Provider("agent", "coze", "", "coze", section)
        yield Provider("agent", "openai", "chatId", "fastgpt", {**self.model, "chat_id": True})

    def _knowledge(self) -> Iterator[Provider]:
        for service in ("ragflow", "dify"):
            section = {
                "service": service,
                "base_url": self._http("knowledge"),
                "api_key": knowledge.KEY,
                "datasets": [DATASET],
            }
            yield Provider("knowledge", service, "", "knowledge", section)


_PRESETS: Final[Mapping[str, Section]] = {
    "gpt-sovits": {"body": {"ref_audio_path": own_voices.RECORDING}},
    "index-tts": {"voice": own_voices.VOICES[0]},
    "cosyvoice": {"voice": own_voices.VOICES[1]},
    "fish-speech": {"api_key": own_voices.KEY},
}
