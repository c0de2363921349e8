"""Ten hours of music on the virtual clock: no gap, and no memory."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from tests.support.media_files import sound, write_wav
from vixio.core.clock import now
from vixio.core.session.speech import SpeechHandle
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS
from vixio.tools.media.library import Item
from vixio.tools.media.player import Player
from vixio.tools.media.settings import MediaSettings

HOUR = 3600.0
RATE = 8_000


class AtOnce(Executor):
    """Decodes where it is asked: threads have a clock of their own."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401 - any function
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4_096


@pytest.mark.slow
@pytest.mark.timeout(900)
@on_virtual_time
async def test_ten_hours_of_music(tmp_path: Path) -> None:
    for number in range(4):
        write_wav(tmp_path / f"{number}.wav", sound(300.0, RATE, number), RATE)
    items = [Item(f"Piece {n}", str(tmp_path / f"{n % 4}.wav"), rate=RATE) for n in range(130)]
    talk = Conversation(
        asr=ScriptedASR([]), agent=ScriptedAgent(lambda text: ("Yes.",)), tts=ScriptedTTS()
    )
    async with talk.running() as running:
        session = running.session
        assert session is not None
        player = Player(MediaSettings(), AtOnce())
        player.play(items, lambda sound: session._offer(SpeechHandle.of_sound(sound)))
        await asyncio.sleep(60)
        begun, used, resident = now(), list[int](), list[int]()
        while now() < begun + 10 * HOUR:
            for _ in range(60):
                await asyncio.sleep(HOUR / 60)
                talk.device.sent.clear()
            gc.collect()
            used.append(len(gc.get_objects()))
            resident.append(resident_bytes())
            assert player.plays
            assert session.state == "speaking"
        assert talk.counters.get("pacer.starved") == 0
        reply = session._dialogue._slot.reply
        assert reply is not None
        assert reply.pacer.heard_ms() >= 10 * HOUR * 1000, "at the pace of the device, all the time"
        assert used[-1] - used[0] < 500, used
        assert resident[-1] - resident[0] < 2_000_000, resident
        talk.device.vanish()
