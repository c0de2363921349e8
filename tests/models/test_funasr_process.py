"""The worker process: loading, crashes, hangs, closing."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.models.funasr_support import BOUND, PACKET, feed, funasr, made, say
from tests.models.needs import needs
from tests.support.waiting import until
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.providers.asr import SpeechHints
from vixio.providers.funasr.provider import FunASRProvider
from vixio.providers.funasr.settings import FunASRSettings

pytestmark = [
    *needs("funasr", "funasr", "torch", "kaldi_native_fbank"),
    pytest.mark.timeout(240),  # each start of a process takes seconds, on a slow machine many
]


def pid_of(provider: FunASRProvider) -> int:
    assert provider.worker is not None
    return provider.worker.pid


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def cut_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block the network of the process; it records each attempt in ``folder``."""
    guard = folder / "guard"
    guard.mkdir()
    guard.joinpath("sitecustomize.py").write_text(
        "import sys\n"
        "def note(event, arguments):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo'):\n"
        f"        open({str(folder / 'asked')!r}, 'a').close()\n"
        "        raise OSError('no network')\n"
        "sys.addaudithook(note)\n"
        f"open({str(folder / 'cut off')!r}, 'w').close()\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(guard))


async def test_the_loop_goes_on_while_a_model_is_loaded_and_runs(
    paraformer: Path, speech: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a network: the process records each address that it looks up."""
    cut_off(tmp_path, monkeypatch)
    lags: list[float] = []
    loop = asyncio.get_running_loop()

    async def watch() -> None:
        while True:
            before = loop.time()
            await asyncio.sleep(0.01)
            lags.append(loop.time() - before - 0.01)

    watching = asyncio.create_task(watch())
    async with funasr(paraformer) as provider:
        while_loading = len(lags)
        for _ in range(3):
            assert (await say(provider, speech * 10)).text
    watching.cancel()
    assert while_loading > 20
    # A busy machine delays a few rounds; an import in the server itself would delay most.
    assert sorted(lags)[len(lags) * 9 // 10] < 0.25
    assert tmp_path.joinpath("cut off").exists()
    assert not tmp_path.joinpath("asked").exists()


async def test_a_dead_or_hung_process_costs_its_utterances_and_is_replaced(
    paraformer: Path, speech: bytes
) -> None:
    async with funasr(paraformer, timeout=BOUND) as provider:
        stream = provider.open(SpeechHints())
        await feed(stream, speech)
        dead = pid_of(provider)
        os.kill(dead, signal.SIGKILL)
        with pytest.raises(ProviderError) as caught:
            await stream.finish()
        assert caught.value.retryable
        await stream.close()
        await until(
            lambda: provider.worker is not None and provider.worker.pid != dead, seconds=BOUND
        )
        assert (await say(provider, speech)).text
        assert pid_of(provider) != dead
        assert gone(dead)

        provider.settings = provider.settings.model_copy(update={"timeout": 1.0})
        hung = pid_of(provider)
        os.kill(hung, signal.SIGSTOP)
        stream = provider.open(SpeechHints())
        await stream.feed(speech[:PACKET])
        with pytest.raises(ProviderTimeout):
            await stream.finish()
        await stream.close()
        await until(lambda: provider.worker is None or provider.worker.pid != hung)
        await until(lambda: gone(hung))
        provider.settings = provider.settings.model_copy(update={"timeout": BOUND})
        await until(lambda: provider.worker is not None, seconds=BOUND)
        assert (await say(provider, speech)).text


async def test_a_hub_out_of_reach_is_an_error_that_may_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(tmp_path, monkeypatch)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    provider = FunASRProvider(FunASRSettings(model="nobody/nothing", hub="hf", threads=1))
    with pytest.raises(ProviderError, match="could not be downloaded") as caught:
        await asyncio.wait_for(provider.start(), BOUND)
    assert caught.value.retryable
    assert caught.value.reason == "unreachable"
    assert tmp_path.joinpath("asked").exists()
    await provider.close()


async def test_closing_while_the_model_is_loaded_leaves_nothing(paraformer: Path) -> None:
    provider = made(paraformer)
    starting = asyncio.create_task(provider.start())
    await asyncio.sleep(0.3)  # at an arbitrary point of the load
    await provider.close()
    with pytest.raises(ProviderError):
        await asyncio.wait_for(starting, BOUND)
    with pytest.raises(ProviderError):
        provider.open(SpeechHints())
    with pytest.raises(ProviderError):
        await provider.start()


async def test_a_model_that_cannot_be_loaded_is_one_line(tmp_path: Path) -> None:
    tmp_path.joinpath("config.yaml").write_text("model: Paraformer\n", encoding="utf-8")
    with pytest.raises(ProviderUnavailable, match="could not be loaded") as caught:
        async with funasr(tmp_path):
            pass
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
