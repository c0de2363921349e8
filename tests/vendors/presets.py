"""The ready configurations for Chinese, with stand-ins in the place of their services.

A configuration is the file itself: only addresses and keys are those of this machine.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tests.e2e.harness import NO_GAPS
from tests.support import patient
from tests.support.edge_server import Fault, edge_server
from tests.support.funasr_faults import at, cut
from tests.support.funasr_server import Flavour, FunASRServer
from vixio.settings import Settings, load_settings
from vixio_bench.vendors.base import Delays, Trouble, VendorService
from vixio_bench.vendors.dashscope import service as dashscope
from vixio_bench.vendors.own_voices.service import OwnVoices
from vixio_bench.vendors.volcengine import service as volcengine
from vixio_bench.vendors.xunfei import service as xunfei

CONFIG: Final = Path(__file__).resolve().parents[2] / "config"

MODEL_KEY: Final = "sk-of-the-model"

KEYS: Final = {
    "ZHIPUAI_API_KEY": MODEL_KEY,
    "ARK_API_KEY": MODEL_KEY,
    "DASHSCOPE_API_KEY": dashscope.KEY,
    "VOLCENGINE_API_KEY": volcengine.KEY,
    "XFYUN_APP_ID": xunfei.APP_ID,
    "XFYUN_API_KEY": xunfei.KEY,
    "XFYUN_API_SECRET": xunfei.SECRET,
}
"""As a user exports them."""

PATIENT: Final = 30.0
"""Seconds of a vendor's second: it closes nothing by itself while a test runs."""

SELDOM: Final = Delays(partial=0.3)
"""Partial words now and then: to find them takes processor time."""

Hear = Callable[[bytes], str]
Addresses = dict[str, dict[str, dict[str, Any]]]
"""By section and provider: the options that say where it is."""


@dataclass
class Services:
    """What hears and speaks, and what can happen to it."""

    addresses: Addresses
    lose_ears: Callable[[int], None]
    """The next so many connections are lost in the middle of an utterance."""
    lose_voice: Callable[[], None]
    """The voice is lost in the middle of its next sentence."""
    hold_voice: Callable[[], None]
    """The voice says no more in the middle of its next sentence, until it is interrupted."""
    cancelled: Callable[[], int]
    """How often it has noticed that nobody listens."""
    hears: Callable[[], int]
    """How many utterances have begun."""
    open: Callable[[], int]
    """Connections."""
    kept: int = 1
    """Of them, how many may stay open between two turns."""
    vendors: Sequence[VendorService] = ()
    spare_ears: bool = False
    """Whether another recogniser takes over."""
    spare_voice: bool = False

    @property
    def violations(self) -> list[str]:
        """What a client must not do, and did."""
        return [each for vendor in self.vendors for each in vendor.account.violations]


def settings(name: str, addresses: Addresses, folder: Path) -> Settings:
    """Load a ready configuration for a server on free ports. ``folder``: for a file of its own."""
    wanted = yaml.safe_load((CONFIG / f"{name}.yaml").read_text("utf-8"))
    for section, providers in addresses.items():
        given = wanted[section]
        parts = given if isinstance(given, list) else [given]
        for provider, options in providers.items():
            (part,) = (each for each in parts if each["name"] == provider)
            part.update(options)
    limits = patient.sections()
    here: dict[str, Any] = {
        "server": {"host": "127.0.0.1", "port": 0, "http_port": 0},
        "memory": {"store": "none"},
        "data": {"database": "none"},
        "api": {"enabled": False},
        # A pause in an utterance must not be its end on a busy machine.
        "listening": {**NO_GAPS, "think_ms": 0},
        "timeouts": limits["timeouts"],
        "assistant": limits["assistant"],
    }
    for section, options in here.items():
        wanted[section] = {**wanted.get(section, {}), **options}
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(wanted, allow_unicode=True), encoding="utf-8")
    return load_settings(path, KEYS)


@asynccontextmanager
async def funasr(hear: Hear) -> AsyncIterator[FunASRServer]:
    """Run a FunASR server, without TLS."""
    async with FunASRServer(Flavour.CPP_2PASS, transcribe=hear) as ears:
        yield ears


def _loses(ears: FunASRServer) -> Callable[[int], None]:
    def lose(times: int) -> None:
        ears.fault = at("audio", cut, times)

    return lose


@asynccontextmanager
async def free(hear: Hear) -> AsyncIterator[Services]:
    async with funasr(hear) as ears, edge_server() as voice:
        yield Services(
            {"asr": {"funasr-server": {"url": ears.url}}},
            lose_ears=_loses(ears),
            lose_voice=lambda: voice.faults.append(Fault(cut="middle")),
            hold_voice=lambda: voice.faults.append(Fault(stall="middle")),
            cancelled=lambda: int(voice.gone.is_set()),
            hears=lambda: len(ears.utterances),
            open=lambda: ears.open_connections + voice.open_connections,
            spare_voice=True,
        )


@asynccontextmanager
async def local(hear: Hear) -> AsyncIterator[Services]:
    async with funasr(hear) as ears, OwnVoices(SELDOM) as voice:
        yield Services(
            {
                "asr": {"funasr-server": {"url": ears.url}},
                "tts": {"http": {"url": voice.url("cosyvoice")}},
            },
            lose_ears=_loses(ears),
            lose_voice=lambda: voice.fail(Trouble.CUT),
            hold_voice=lambda: voice.fail(Trouble.STALL),
            cancelled=lambda: voice.account.cancelled,
            hears=lambda: len(ears.utterances),
            open=lambda: ears.open_connections,
            vendors=[voice],
            spare_voice=True,
        )


@asynccontextmanager
async def bailian(hear: Hear) -> AsyncIterator[Services]:
    async with dashscope.DashScopeService(SELDOM, seconds=PATIENT, hear=hear) as vendor:
        where = {"dashscope": {"url": vendor.tasks_url}}
        yield Services(
            {"asr": where, "tts": where},
            lose_ears=lambda times: vendor.fail(*[Trouble.CUT] * times),
            lose_voice=lambda: vendor.fail(Trouble.CUT),
            hold_voice=lambda: vendor.fail(Trouble.STALL),
            cancelled=lambda: vendor.account.cancelled,
            hears=lambda: vendor.account.uses,
            open=lambda: vendor.account.open,
            kept=2,  # one for the ears, one for the voice
            vendors=[vendor],
        )


@asynccontextmanager
async def quick(hear: Hear) -> AsyncIterator[Services]:
    async with (
        volcengine.VolcengineService(SELDOM, seconds=PATIENT, hear=hear) as doubao,
        xunfei.XunfeiService(SELDOM, seconds=PATIENT, hear=hear) as other,
    ):
        doubao_at = {"url": doubao.asr_url}, {"url": doubao.tts_url, "http_url": doubao.http_url}
        yield Services(
            {
                "asr": {"volcengine": doubao_at[0], "xunfei": {"url": other.model_url}},
                "tts": {"volcengine": doubao_at[1], "xunfei": {"url": other.voice_url}},
            },
            lose_ears=lambda times: doubao.fail(*[Trouble.CUT] * times),
            lose_voice=lambda: doubao.fail(Trouble.CUT),
            hold_voice=lambda: doubao.fail(Trouble.STALL),
            cancelled=lambda: doubao.account.cancelled,
            hears=lambda: doubao.account.uses + other.account.uses,
            open=lambda: doubao.account.open + other.account.open,
            vendors=[doubao, other],
            spare_ears=True,
            spare_voice=True,
        )


PRESETS: Final = {"free-zh": free, "quick-zh": quick, "bailian": bailian, "local-zh": local}
