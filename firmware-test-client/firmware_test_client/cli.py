"""Command line: hold a conversation with a server and print it with its timing."""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
import threading
import uuid
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from firmware_test_client import __version__
from firmware_test_client.config import SPEAKING_DELAY_MS, DeviceConfig, Voice
from firmware_test_client.device import SimulatedDevice
from firmware_test_client.errors import DeviceError
from firmware_test_client.mcp.server import ToolCallRecord
from firmware_test_client.replies import Reply


class _Turn(argparse.Action):
    """Keeps --say and --type in the order in which they were given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # noqa: ANN401  argparse's own signature
        option_string: str | None = None,
    ) -> None:
        kind = "type" if option_string == "--type" else "say"
        namespace.turns = [*(namespace.turns or []), (kind, values)]


def build_parser() -> argparse.ArgumentParser:
    """The options of `firmware-test-client`."""
    parser = argparse.ArgumentParser(
        prog="firmware-test-client", description="A simulated xiaozhi device."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    talk = commands.add_parser(
        "talk", help="talk to a server; without --say and --type, lines of standard input are said"
    )
    where = talk.add_mutually_exclusive_group(required=True)
    where.add_argument("--ota", metavar="URL", help="OTA address, as entered on a device")
    where.add_argument("--url", metavar="WS", help="WebSocket address; skips OTA")
    talk.add_argument("--token", help="with --url: the token to show")
    talk.add_argument(
        "--say", action=_Turn, dest="turns", metavar="TEXT", help="say this, or a .wav"
    )
    talk.add_argument("--type", action=_Turn, dest="turns", metavar="TEXT", help="type this")
    talk.add_argument("--mode", choices=("auto", "manual", "realtime"), default="auto")
    talk.add_argument(
        "--version", type=int, choices=(1, 2, 3), dest="protocol", help="binary framing"
    )
    talk.add_argument("--frame-ms", type=int, choices=(20, 40, 60), default=60)
    talk.add_argument(
        "--pcm", action="store_true", help="send and play PCM instead of Opus, as some web pages do"
    )
    talk.add_argument(
        "--speaking-delay-ms",
        type=float,
        default=SPEAKING_DELAY_MS,
        metavar="MS",
        help="from `tts start` until audio is played",
    )
    talk.add_argument("--voice", default="en-us", help="eSpeak NG voice, as en-us or cmn")
    talk.add_argument("--variant", default="", help="eSpeak NG variant, as f3 or m5")
    talk.add_argument("--speed", type=int, default=160, help="words a minute")
    talk.add_argument("--device-id", help="MAC address; without it, one of this computer and user")
    talk.add_argument("--firmware-version", default="2.0.3", help="as the device reports it")
    talk.add_argument(
        "--ota-tries",
        type=int,
        default=1,
        metavar="N",
        help="OTA requests before giving up; a real device makes 10, in 85 minutes",
    )
    talk.add_argument("--wav-out", type=Path, metavar="FILE", help="both sides as stereo WAV")
    talk.add_argument("--json", action="store_true", help="one JSON object a line")
    talk.add_argument("--timeout", type=float, default=30.0, help="seconds to wait for a reply")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status (0: every turn was answered)."""
    options = build_parser().parse_args(argv)
    try:
        return asyncio.run(_talk(options))
    except DeviceError as error:
        sys.stderr.write(f"firmware-test-client: {str(error).splitlines()[0]}\n")
        return 1
    except KeyboardInterrupt:
        return 130


def own_mac() -> str:
    """The address of this computer's and user's device: one device in the server's list, not many.

    Locally administered, as :func:`~firmware_test_client.config.random_mac`.
    """
    network = uuid.getnode()
    known = "" if network >> 40 & 1 else str(network)  # that bit: there is none, it is random
    digest = sha256(f"{platform.node()} {known} {Path.home()}".encode()).digest()
    return ":".join(f"{octet:02x}" for octet in (0x02, *digest[:5]))


async def _talk(options: argparse.Namespace) -> int:
    device_id = options.device_id or own_mac()
    config = DeviceConfig(
        ota_url=options.ota,
        ws_url=options.url,
        token=options.token,
        mode=options.mode,
        version=options.protocol,
        uplink_frame_ms=options.frame_ms,
        codec="pcm" if options.pcm else "opus",
        speaking_delay_ms=options.speaking_delay_ms,
        voice=Voice(name=options.voice, variant=options.variant, speed=options.speed),
        device_id=device_id,
        client_id=str(uuid.uuid5(uuid.NAMESPACE_OID, device_id)),
        firmware_version=options.firmware_version,
        ota_tries=options.ota_tries,
        activation_rounds=None,
    )
    device = SimulatedDevice(config)
    try:
        shown = await _start(device, as_json=options.json)
        if not options.json:
            session = device.session_id
            _out(f"connected as {config.device_id}, session {session}")
        try:
            async for kind, text in _turns(options):
                calls = len(device.mcp.calls)
                reply = await _one_turn(device, kind, text, options.timeout)
                screen, shown = device.records.screen[shown:], len(device.records.screen)
                _show(reply, device.mcp.calls[calls:], screen, as_json=options.json)
        finally:
            if not options.json:  # what a turn without an answer has shown, such as why
                _show_screen(device.records.screen[shown:])
            if options.wav_out is not None:
                _write_wav(device, options.wav_out)
    finally:
        await device.close()
    return 0


async def _start(device: SimulatedDevice, *, as_json: bool) -> int:
    """Start the device, and print meanwhile what it shows; returns how many lines it has shown.

    A code to claim is printed for each of the device's rounds, since its server may change it.
    """
    starting = asyncio.create_task(device.start())
    lines, rounds = 0, 0

    def print_news() -> None:
        nonlocal lines, rounds
        if not as_json:
            _show_screen(device.screen[lines:])
        lines = len(device.screen)
        for activation in device.activations[rounds:]:
            news = {"device": device.config.device_id, "activation": activation.code}
            line = f"code    {activation.code}: claim it at the server; the device waits"
            _out(json.dumps(news) if as_json else line)
        rounds = len(device.activations)

    def has_news() -> bool:
        return starting.done() or len(device.screen) > lines or len(device.activations) > rounds

    try:
        while not starting.done():
            await device.wait_for(has_news, what="the start", timeout=float("inf"))
            print_news()
        await starting
        return lines
    finally:
        starting.cancel()
        await asyncio.wait([starting])


def _write_wav(device: SimulatedDevice, path: Path) -> None:
    try:
        device.write_wav(path)
    except OSError as error:
        raise DeviceError(f"cannot write {path}: {error.strerror}") from error


async def _one_turn(device: SimulatedDevice, kind: str, text: str, timeout: float) -> Reply:
    if kind == "type":
        return await device.type_text(text, timeout=timeout)
    speech = Path(text) if text.lower().endswith(".wav") else text
    if device.config.mode == "manual":
        return await device.press_to_talk(speech, timeout=timeout)
    return await device.ask(speech, timeout=timeout)


async def _turns(options: argparse.Namespace) -> AsyncIterator[tuple[str, str]]:
    if options.turns:
        for turn in options.turns:
            yield turn
        return
    lines: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line.strip())
        loop.call_soon_threadsafe(lines.put_nowait, "\x04")

    # A daemon thread: a read from a terminal cannot be cancelled and must not delay the exit.
    threading.Thread(target=read, daemon=True).start()
    while (line := await lines.get()) != "\x04":
        if line:
            yield "say", line


def _show(reply: Reply, calls: list[ToolCallRecord], screen: list[str], *, as_json: bool) -> None:
    figures = reply.as_dict()
    if as_json:
        figures["screen"] = screen
        figures["calls"] = [{"name": call.name, "arguments": call.arguments} for call in calls]
        _out(json.dumps(figures, ensure_ascii=False))
        return
    _out(f"\nyou     {reply.asked}")
    if reply.stt is not None:
        _out(f"heard   {reply.stt}")
    for call in calls:
        arguments = ", ".join(f"{key}={value!r}" for key, value in call.arguments.items())
        _out(f"tool    {call.name}({arguments})")
    _out(f"reply   {reply.text}")
    _show_screen(screen)
    times = ("tts_start_ms", "first_audio_ms", "playout_end_ms", "tts_stop_ms")
    _out("ms      " + "  ".join(f"{name[:-3]} {figures[name]}" for name in times))
    flow = ("frames", "late", "underruns", "overflows", "clipped_ms", "jitter_ms", "stop_lag_ms")
    _out("audio   " + "  ".join(f"{name} {figures[name]}" for name in flow))


def _show_screen(lines: list[str]) -> None:
    for line in lines:
        _out(f"screen  {line}")


def _out(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
