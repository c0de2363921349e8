"""``vixio setup`` with accounts of vendors: trials on the stand-ins, and a person in Chinese."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.person import at_terminal
from tests.e2e.test_setup import VIXIO, environment
from tests.vendors.xunfei import KEYS
from vixio.cli.setup.trial import SetupTrials
from vixio.cli.setup.words import Words
from vixio.core.errors import ProviderError
from vixio.settings import load_settings
from vixio.settings.env_file import read_env
from vixio_bench.vendors.base import VendorService
from vixio_bench.vendors.coze import service as coze
from vixio_bench.vendors.dashscope import service as dashscope
from vixio_bench.vendors.dify import service as dify
from vixio_bench.vendors.minimax import service as minimax
from vixio_bench.vendors.volcengine import service as volcengine
from vixio_bench.vendors.xunfei.service import XunfeiService

SLOW = {"要换吗？ [Y/n]: ": "n"}


def sections(service: VendorService) -> list[tuple[str, dict[str, Any]]]:
    """Return a section of each kind that the vendor of a stand-in has, with the right keys."""
    match service:
        case volcengine.VolcengineService():
            ears = {"url": service.asr_url, "api_key": volcengine.KEY}
            voice = {"url": service.tts_url, "api_key": volcengine.KEY}
            return [
                ("asr", {"name": "volcengine", **ears}),
                ("tts", {"name": "volcengine", **voice}),
            ]
        case dashscope.DashScopeService():
            known = {"name": "dashscope", "url": service.tasks_url, "api_key": dashscope.KEY}
            return [("asr", known), ("tts", known)]
        case XunfeiService():
            ears, voice = {"url": service.model_url, **KEYS}, {"url": service.voice_url, **KEYS}
            return [("asr", {"name": "xunfei", **ears}), ("tts", {"name": "xunfei", **voice})]
        case dify.DifyService():
            known = {"base_url": service.base_url, "api_key": dify.KEY}
            return [("agent", {"name": "dify", **known})]
        case coze.CozeService():
            known = {"base_url": service.base_url, "api_key": coze.KEY, "bot_id": coze.BOT}
            return [("agent", {"name": "coze", **known})]
        case minimax.MiniMaxService():
            return [("tts", {"name": "minimax", "base_url": service.base_url, "api_key": "any"})]
    raise AssertionError(service)


async def verified(
    kind: str, section: dict[str, Any], env: Mapping[str, str] | None = None
) -> bool | None:
    trials = SetupTrials(lambda _: None, lambda: Words("zh"))
    return await asyncio.to_thread(trials.verify, kind, section, env or {})


@pytest.mark.parametrize(
    "made",
    [
        volcengine.VolcengineService,
        dashscope.DashScopeService,
        XunfeiService,
        dify.DifyService,
        coze.CozeService,
    ],
)
async def test_the_trial_of_an_account_costs_nothing_and_finds_a_wrong_key(
    made: type[VendorService],
) -> None:
    async with made() as service:
        for kind, section in sections(service):
            assert await verified(kind, section) is True
            with pytest.raises(ProviderError) as refused:
                await verified(kind, {**section, "api_key": "sk-wrong"})
            assert refused.value.reason == "no_key"
            assert "sk-wrong" not in str(refused.value)
        assert not service.account.whole
        assert not service.account.violations


async def test_a_vendor_without_a_free_question_is_not_asked() -> None:
    async with minimax.MiniMaxService() as service:
        ((kind, section),) = sections(service)
        assert await verified(kind, section) is None
        assert not service.account.connections


async def test_the_key_of_a_trial_is_that_of_the_variable() -> None:
    async with dashscope.DashScopeService() as service:
        _, section = sections(service)[0]
        section = {**section, "api_key": "${DASHSCOPE_API_KEY}"}
        assert await verified("asr", section, {"DASHSCOPE_API_KEY": dashscope.KEY}) is True


async def test_a_person_sets_up_bailian_in_chinese(tmp_path: Path) -> None:
    async with dashscope.DashScopeService() as service:
        service.otherwise = "请把灯打开。"
        address = {"name": "dashscope", "url": service.tasks_url}
        # As with a key of another region: what stands there besides the key stays.
        (tmp_path / "vixio.yaml").write_text(yaml.safe_dump({"asr": address}), "utf-8")
        command = (VIXIO, "setup", "--language", "zh", "--no-wait")
        async with at_terminal(
            *command, directory=tmp_path, environment=environment(tmp_path)
        ) as person:
            person.always = SLOW
            await person.expect("百炼")
            await person.answer("请选择", person.number("百炼"))
            await person.expect("bailian.console.aliyun.com")
            await person.answer("API Key（输入时不显示）", "sk-mistyped")
            refused = await person.line("密钥无效")
            assert refused.startswith("阿里云百炼（DashScope）：密钥无效（")
            assert "https://bailian.console.aliyun.com" in refused
            await person.answer("API Key（输入时不显示）", dashscope.KEY)
            await person.expect("接受了密钥")
            await person.answer("由什么来回答？", "1")
            await person.expect("eSpeak")
            await person.answer("请选择", person.number("eSpeak"))
            await person.answer("还要哪些工具", "")
            await person.expect("understood “请把灯打开")
            await person.answer("写入吗", "y")
            await person.expect("已写入 vixio.yaml")
            await person.answer("要让 `vixio` 命令", "n")
            assert await person.left() == 0
        assert "sk-" not in person.seen
        assert "FAILED" not in person.seen
    env = read_env(tmp_path / ".env")
    assert env == {"DASHSCOPE_API_KEY": dashscope.KEY}
    settings = load_settings(tmp_path / "vixio.yaml", env)
    assert (settings.asr.name, settings.agent.name) == ("dashscope", "phrasebook")
    assert yaml.safe_load((tmp_path / "vixio.yaml").read_text("utf-8"))["asr"] == {
        **address,
        "api_key": "${DASHSCOPE_API_KEY}",
    }
