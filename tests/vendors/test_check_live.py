"""``vixio check --live`` with each fault of each vendor: one line that a person can act on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.vendors.live_fault import WRONG, Fault
from tests.vendors.live_faults import FAULTS
from vixio.cli.commands import main
from vixio.cli.diagnostics.phrases import sentence
from vixio_bench.vendors.dashscope.service import KEY as WORKING_KEY
from vixio_bench.vendors.dashscope.service import DashScopeService

pytestmark = pytest.mark.slow

LANGUAGE = "zh-CN"


def commands() -> list[Sequence[Fault]]:
    """Return the faults that one command may have at the same time: several of one part."""
    alone = [[each] for each in FAULTS if each.part == "agent"]
    others = [each for each in FAULTS if each.part != "agent"]
    others.sort(key=lambda each: (each.vendor, each.part))
    return [*alone, *(list(group) for _, group in groupby(others, lambda it: (it.vendor, it.part)))]


@pytest.mark.parametrize("faults", commands(), ids=lambda them: f"{them[0].vendor}-{them[0].name}")
async def test_a_fault_is_told_in_one_line(
    faults: Sequence[Fault], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for vendor in ("DASHSCOPE", "XFYUN", "VOLCENGINE", "MINIMAX", "DIFY", "COZE", "RAGFLOW"):
        for name in ("API_KEY", "API_SECRET", "APP_ID", "API_TOKEN", "GROUP_ID", "ACCESS_TOKEN"):
            monkeypatch.delenv(f"{vendor}_{name}", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done, keys = await checked(faults, tmp_path / "vixio.yaml")
    assert done.exit_code == 1
    assert done.exception is None or isinstance(done.exception, SystemExit)
    lines = [line for line in done.output.splitlines() if "FAILED" in line]
    broken = [line for line in lines if line.startswith(faults[0].part)]
    assert len(broken) == len(faults), done.output
    assert "Traceback" not in done.output
    for fault, line in zip(faults, broken, strict=True):
        assert fault.says in line, (fault.name, line)
        assert fault.page in line, (fault.name, line)
    assert not [key for key in keys if key in done.output]


async def checked(faults: Sequence[Fault], path: Path) -> tuple[Result, set[str]]:
    """Run the command; return what it did, and the keys that the settings have."""
    part = faults[0].part
    async with AsyncExitStack() as stack:
        works = await stack.enter_async_context(DashScopeService())
        works.otherwise = sentence(LANGUAGE)
        speech = {"name": "dashscope", "url": works.tasks_url, "api_key": WORKING_KEY}
        settings: dict[str, Any] = {
            "assistant": {"language": LANGUAGE},
            "asr": [speech],
            "tts": [speech],
        }
        sections = []
        for fault in faults:
            service = fault.service()
            await stack.enter_async_context(service)
            service.fail(*fault.troubles)
            sections.append(fault.settings(service))
            if fault.down:
                await service.stop()
        keys = {WRONG, WORKING_KEY, *_keys(sections)}
        if part == "tools":
            named = [each | {"name": f"papers{n}"} for n, each in enumerate(sections)]
            settings["tools"] = {"sources": named}
        else:
            settings[part] = sections[0] if part == "agent" else sections
        await asyncio.to_thread(path.write_text, yaml.safe_dump(settings), encoding="utf-8")
        arguments = ["check", "--live", "--config", str(path)]
        return await asyncio.to_thread(CliRunner().invoke, main, arguments), keys


def _keys(sections: Sequence[Mapping[str, Any]]) -> set[str]:
    names = ("api_key", "api_secret", "access_token")
    return {each[name] for each in sections for name in names if each.get(name)}
