"""eSpeak NG from a private copy, isolated from other users in the process."""

from __future__ import annotations

import asyncio
import ctypes
import subprocess
import sys

import espeakng_loader
import pytest

from firmware_test_client import Voice
from firmware_test_client.espeak import synthesise


async def _beside_another_user() -> None:
    slow = await synthesise("a quiet word", Voice(speed=120))
    theirs = ctypes.CDLL(espeakng_loader.get_library_path())
    assert theirs.espeak_Initialize(2, 0, espeakng_loader.get_data_path().encode(), 0x8000) > 0
    theirs.espeak_SetVoiceByName(b"de+f4")
    theirs.espeak_SetParameter(1, 400, 0)
    signature = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    stolen: list[int] = []

    def steal(_samples: object, count: int, _events: object) -> int:
        stolen.append(count)
        return 0

    callback = signature(steal)
    theirs.espeak_SetSynthCallback(callback)
    again = await synthesise("a quiet word ", Voice(speed=120))  # another text: not from the cache
    assert abs(again.duration - slow.duration) < 0.1
    assert stolen == []


def _run() -> None:
    asyncio.run(_beside_another_user())


def test_another_user_of_the_library_in_this_process_changes_nothing() -> None:
    # In its own process, since its changes to the shared library would persist in this one.
    script = f"import runpy; runpy.run_path({__file__!r})['_run']()"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)


@pytest.mark.parametrize(("voice", "text"), [("en-us", "hello there"), ("cmn", "你好,世界")])
async def test_languages_sound(voice: str, text: str) -> None:
    pcm = await synthesise(text, Voice(name=voice))
    assert pcm.duration > 0.4
    assert pcm.rms > 500


async def test_speed_is_words_a_minute() -> None:
    text = "one two three four five six seven eight nine ten"
    slow, fast = [await synthesise(text, Voice(speed=speed)) for speed in (120, 240)]
    assert 1.5 < slow.duration / fast.duration < 2.5
