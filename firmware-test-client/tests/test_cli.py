"""The command line, as a process."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

from ota_server import OtaServer, sections
from ota_server import answer as configured
from scripted_server import Conversation, ScriptedServer, tone_packets

from firmware_test_client.pcm import read_wav


async def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import sys; from firmware_test_client.cli import main; sys.exit(main())",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(30):
        out, err = await process.communicate(stdin.encode())
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def answer(talk: Conversation, body: dict[str, Any]) -> None:
    """Replies to typed text, and to the release of the button."""
    if body.get("state") == "detect":
        await talk.send({"type": "stt", "text": body["text"]})
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        arguments = {"volume": 30}
        await talk.mcp(
            request | {"params": {"name": "self.audio_speaker.set_volume", "arguments": arguments}}
        )
        await talk.speak(tone_packets(3), "Done.")
    elif body.get("state") == "stop":
        await talk.speak(tone_packets(3), "I heard you.")


async def test_typed_turns_as_json_and_wav(server: ScriptedServer, tmp_path: Path) -> None:
    server.on_json = answer
    wav = tmp_path / "out.wav"
    status, out, err = await run(
        "talk", "--url", server.url, "--type", "one", "--type", "two", "--json",
        "--wav-out", str(wav), "--version", "2", "--speaking-delay-ms", "0",
    )  # fmt: skip
    assert (status, err) == (0, "")
    turns = [json.loads(line) for line in out.splitlines()]
    assert [turn["asked"] for turn in turns] == ["one", "two"]
    assert turns[0]["text"] == "Done."
    assert turns[0]["calls"] == [
        {"name": "self.audio_speaker.set_volume", "arguments": {"volume": 30}}
    ]
    assert turns[0]["played"] == 3
    assert read_wav(wav).duration > 0.3
    assert server.talk.headers["protocol-version"] == "2"


async def test_it_is_the_same_device_each_time(server: ScriptedServer) -> None:
    server.on_json = answer
    seen = []
    for more in ((), (), ("--device-id", "02:00:00:00:00:01")):
        status, _, err = await run("talk", "--url", server.url, "--type", "one", *more)
        assert (status, err) == (0, "")
        seen.append(tuple(server.talk.headers[name] for name in ("device-id", "client-id")))
    first, again, other = seen
    assert first == again
    assert re.fullmatch("02(:[0-9a-f]{2}){5}", first[0])
    assert other[0] == "02:00:00:00:00:01"
    assert other[1] != first[1]


async def test_lines_of_standard_input_are_spoken(server: ScriptedServer) -> None:
    server.on_json = answer
    status, out, err = await run(
        "talk", "--url", server.url, "--mode", "manual", "--speed", "300", stdin="yes\n\nno\n"
    )
    assert (status, err) == (0, "")
    assert out.count("reply   I heard you.\n") == 2
    assert out.count("screen  I heard you.\n") == 2
    assert "you     yes" in out


async def test_what_the_screen_shows_is_printed(server: ScriptedServer) -> None:
    async def show(talk: Conversation, body: dict[str, Any]) -> None:
        if body.get("state") != "detect":
            return
        await talk.send({"type": "stt", "text": body["text"]})
        await talk.send({"type": "llm", "emotion": "sad", "text": "😔"})
        if body["text"] == "fail":
            alert = {"status": "ERROR", "message": "no key", "emotion": "sad"}
            await talk.send({"type": "alert", **alert})
        else:
            await talk.speak(tone_packets(3), "It is noon.")

    server.on_json = show
    status, out, _ = await run("talk", "--url", server.url, "--type", "the time")
    assert status == 0
    assert [line for line in out.splitlines() if line.startswith("screen")] == [
        "screen  you: the time",
        "screen  (sad)",
        "screen  It is noon.",
    ]
    status, out, err = await run(
        "talk", "--url", server.url, "--type", "fail", "--timeout", "1"
    )  # fmt: skip
    assert status == 1
    assert "screen  alert: ERROR: no key (sad)\n" in out
    assert err.startswith("firmware-test-client: waited 1 s")


async def test_the_code_to_claim_is_printed(ota: OtaServer, server: ScriptedServer) -> None:
    server.on_json = answer
    asked = sections(activation={"code": "123456", "message": "house\n123456", "challenge": "c"})
    device = "02:00:00:00:00:07"
    talk = "talk", "--ota", f"{ota.base}/ota/", "--type", "hello", "--device-id", device
    ota.answers = [asked, (200, "{}"), configured(server.url)]
    status, out, err = await run(*talk)
    assert (status, err) == (0, "")
    assert out.startswith(
        "screen  alert: Activation: house\n123456 (link)\n"
        "code    123456: claim it at the server; the device waits\n"
        f"connected as {device}"
    )
    assert "reply   Done." in out
    ota.answers = [asked, (200, "{}"), configured(server.url)]
    status, out, err = await run(*talk, "--json")
    assert (status, err) == (0, "")
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[0] == {"device": device, "activation": "123456"}
    assert lines[1]["text"] == "Done."


async def test_a_start_that_fails_is_one_line(ota: OtaServer) -> None:
    ota.answers = [(403, "{}")]
    status, out, err = await run("talk", "--ota", f"{ota.base}/ota/", "--type", "x")
    assert (status, out) == (1, "")
    assert err == f"firmware-test-client: {ota.base}/ota/ answered HTTP 403\n"


async def test_errors_are_one_line(server: ScriptedServer) -> None:
    status, _, err = await run("talk", "--url", "ws://127.0.0.1:9/", "--type", "x")
    assert status == 1
    assert err.startswith("firmware-test-client: cannot connect to ws://127.0.0.1:9/")
    assert err.count("\n") == 1
    status, _, err = await run("talk", "--url", server.url, "--type", "x", "--timeout", "0.2")
    assert status == 1
    assert err.startswith("firmware-test-client: waited 0.2 s for the end of reply 0")
    assert err.count("\n") == 1
