"""A device's life by ``curl`` alone: claimed, spoken to, its tool called, reminded, read back.

Each command is printed as a person would type it, with its answer; what it must have done is asked
of the device. A second ``curl`` follows the stream of events meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vixio.cli.demo.conversation import device_config, running
from vixio.cli.demo.offline import is_now
from vixio.core.errors import ConfigError
from vixio.settings import Settings

if TYPE_CHECKING:
    from firmware_test_client import SimulatedDevice

CURL: Final = "curl"

BOUND_S: Final = 60.0
"""For what happens behind an answer: a reminder's time, a record that is written."""

TURNS: Final = 3
"""What is said by the API, the reminder, and the question."""

TOLD: Final = (
    "device.waiting",
    "changed",
    "session.opened",
    *("turn.started", "turn.ended") * TURNS,
)
"""What the stream has to tell of the device, in this order, with other things between."""

STAGES: Final = ("turn_end", "transcript", "first_audio", "first_frame", "playout_end")
"""Those that each spoken turn has, in the order of their times."""

LOUDER: Final = 30
"""The volume that is set; the device starts at another one."""

_LOGIN: Final = '"{\\"password\\": \\"$(cat data/api_password)\\"}"'
"""The body of a login, as a person types it."""

_SHOWN: Final = 700
"""Characters of an answer that are printed."""


class Commands:
    """Runs ``curl`` and prints it. ``failed``: how many checks did not hold."""

    def __init__(self, api: str) -> None:
        self.token = ""
        self.checks = self.failed = 0
        self._api = api

    async def __call__(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Send a request; return the JSON of the answer."""
        shown, arguments = self._arguments(method, path, body)
        answer = await _run(arguments)
        found = _print(shown, answer.text)
        if not answer.good:
            self.check(False, f"{method} {path} succeeds: {answer.problem}")
        return found

    async def until(self, path: str, good: Callable[[Any], object]) -> Any:  # noqa: ANN401 - JSON
        """Ask again until an answer is good, bounded; return it. Only that one is printed."""
        shown, arguments = self._arguments("GET", path, None)
        answer = await _run(arguments)
        try:
            async with asyncio.timeout(BOUND_S):
                while not (answer.good and good(_json(answer.text))):
                    await asyncio.sleep(0.2)
                    answer = await _run(arguments)
        except TimeoutError:
            self.check(False, f"GET {path} has what is waited for {answer.problem}".rstrip())
        return _print(shown, answer.text)

    def check(self, good: object, expected: str) -> None:
        """Print whether something holds, and count."""
        self.checks += 1
        self.failed += not good
        print(f"  {'ok      ' if good else 'FAILED  '}{expected}\n")

    @asynccontextmanager
    async def following(self, seen: list[dict[str, Any]]) -> AsyncIterator[None]:
        """Append what the stream of events brings to ``seen`` until the block ends."""
        shown, arguments = self._arguments("GET", "/events?types=device,session,turn,changed", None)
        print(f"$ {shown.replace('curl -sS', 'curl -sSN')} &\n")
        process = await asyncio.create_subprocess_exec(
            CURL, "-N", *arguments, stdout=asyncio.subprocess.PIPE
        )
        begun = asyncio.Event()
        reading = asyncio.create_task(_read(process, seen, begun))
        try:
            async with asyncio.timeout(BOUND_S):
                await begun.wait()
            yield
        finally:
            process.terminate()
            await process.wait()
            await reading

    def _arguments(self, method: str, path: str, body: object) -> tuple[str, list[str]]:
        """Return a command as it is printed, without its token, and as it is run."""
        arguments, shown = ["-sS"], "curl -sS"
        if method not in ("GET", "POST") or (method == "POST" and body is None):
            arguments += ["-X", method]
            shown += f" -X {method}"
        if self.token:
            arguments += ["-H", f"Authorization: Bearer {self.token}"]
            shown += ' -H "Authorization: Bearer $TOKEN"'
        if body is not None:
            text = json.dumps(body)
            arguments += ["-H", "Content-Type: application/json", "-d", text]
            typed = _LOGIN if path == "/login" else shlex.quote(text)
            shown += f" -H 'Content-Type: application/json' -d {typed}"
        quoted = f"$API'{path}'" if "?" in path else f"$API{path}"
        return f"{shown} {quoted}", [*arguments, f"{self._api}{path}"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What ``curl`` printed. ``problem``: why it counts as failed; empty if it does not."""

    text: str
    problem: str = ""

    @property
    def good(self) -> bool:
        """Whether the request succeeded: curl, the HTTP status, and a body that is JSON."""
        return not self.problem


async def _run(arguments: Sequence[str]) -> Answer:
    # The status stands in a line of its own behind the body.
    process = await asyncio.create_subprocess_exec(
        *(CURL, "--write-out", "\n%{http_code}", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    text, _, status = out.decode().rpartition("\n")
    text = text.strip()
    if process.returncode:
        return Answer(text or err.decode().strip(), f"curl ended with {process.returncode}")
    if not status.startswith("2"):
        return Answer(text, f"HTTP {status}")
    try:
        json.loads(text or "{}")
    except ValueError:
        return Answer(text, "the answer is no JSON")
    return Answer(text)


def _json(text: str) -> Any:  # noqa: ANN401 - JSON
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return {}


def _print(command: str, answer: str) -> Any:  # noqa: ANN401 - JSON
    print(f"$ {command}\n{answer if len(answer) <= _SHOWN else answer[: _SHOWN - 1] + '…'}")
    return _json(answer)


async def _read(
    process: asyncio.subprocess.Process, seen: list[dict[str, Any]], begun: asyncio.Event
) -> None:
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    while line := (await process.stdout.readline()).decode():
        name, _, value = line.strip().partition(": ")
        if name == "data":
            seen.append(json.loads(value))
        elif name == "id":
            begun.set()


async def converse(wav: Path | None) -> int:
    """Lead the life and print it; return the exit status. Raises ConfigError without ``curl``."""
    from firmware_test_client import DeviceConfig, SimulatedDevice

    if shutil.which(CURL) is None:
        raise ConfigError("curl is not installed: install it (Debian, Ubuntu: apt install curl)")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data")
        settings = Settings.model_validate(
            {
                "server": {"host": "127.0.0.1", "port": 0, "http_port": 0, "access": "activation"},
                "data": {"folder": str(data), "database": ""},
                "memory": {"store": "none"},
            }
        )
        async with running(settings) as app:
            config: DeviceConfig = device_config(app)
            url = (config.ota_url or "").removesuffix("/xiaozhi/ota/")
            print(f"API={url}/api/v1\n")
            commands = Commands(f"{url}/api/v1")
            device = SimulatedDevice(config)
            try:
                await _lead(commands, device, data)
            finally:
                await device.close()
            if wav is not None:
                device.write_wav(wav)
                print(f"both sides as stereo (left: user, right: device): {wav}")
    print(f"{commands.checks - commands.failed} of {commands.checks} steps as expected")
    return 1 if commands.failed else 0


async def _lead(commands: Commands, device: SimulatedDevice, data: Path) -> None:
    password = data / "api_password"
    commands.check(await _until(password.is_file), "the server has made a password")
    login = await commands("POST", "/login", {"password": password.read_text().strip()})
    commands.token = login.get("token", "")
    commands.check(commands.token, "the password of the first start opens the API")
    seen: list[dict[str, Any]] = []
    async with commands.following(seen):
        await _is_claimed(commands, device)
        await _speaks_first(commands, device)
        await _converses(commands, device)
        told = await _until(lambda: in_order(TOLD, _about(seen, device)))
    print(f"events  {' '.join(event['type'] for event in seen)}")
    commands.check(told, "the stream has told all of it, in order")


def _about(seen: Sequence[dict[str, Any]], device: SimulatedDevice) -> list[str]:
    """Return the kinds of the events about a device."""
    device_id = device.config.device_id
    return [event["type"] for event in seen if device_id in json.dumps(event)]


async def _until(good: Callable[[], bool]) -> bool:
    """Wait until something holds, bounded; return whether it does."""
    try:
        async with asyncio.timeout(BOUND_S):
            while not good():  # noqa: ASYNC110 - a program writes it
                await asyncio.sleep(0.05)
    except TimeoutError:
        return False
    return True


def in_order(wanted: Iterable[str], found: Iterable[str]) -> bool:
    """Whether ``wanted`` stands in ``found``, in this order; other things may stand between."""
    rest = iter(found)
    return all(each in rest for each in wanted)


def has_stages(turn: Mapping[str, Any]) -> bool:
    """Whether a recorded turn has the times of its stages, in milliseconds, in their order."""
    stages = turn.get("stages") or {}
    times = [float(stages.get(name, "nan")) for name in STAGES]
    return all(early <= late for early, late in pairwise(times)) and times[0] < times[-1]


async def _is_claimed(commands: Commands, device: SimulatedDevice) -> None:
    starting = asyncio.create_task(device.start())
    shown = await device.wait_for_activation()
    print(f"device  {shown.message}\n")
    listed = await commands("GET", "/devices")
    codes = [each.get("code") for each in listed.get("devices", ())]
    commands.check(codes == [shown.code], "the new device waits, with the code that it shows")
    await commands("POST", "/devices/claim", {"code": shown.code, "name": "Kitchen"})
    async with asyncio.timeout(BOUND_S):
        await starting
    device_state = await commands("GET", "/devices/Kitchen")
    commands.check(device_state.get("online"), "it is claimed, and has connected")


async def _speaks_first(commands: Commands, device: SimulatedDevice) -> None:
    words = {"text": "Dinner is ready.", "wait": True}
    said = await commands("POST", "/devices/Kitchen/say", words)
    # The answer may be there before the device has read the end of its speech.
    spoken = await _until(
        lambda: any("Dinner is ready." in each.text and each.ended for each in device.replies)
    )
    commands.check(said.get("status") == "played" and spoken, "the device has said it")
    path = "/devices/Kitchen/tools/self.audio_speaker.set_volume"
    await commands("POST", path, {"arguments": {"volume": LOUDER}})
    commands.check(device.volume == LOUDER, f"the device's volume is {LOUDER}")
    order = {"device": "Kitchen", "text": "feed the cat", "in_seconds": 1}
    reminder = await commands("POST", "/reminders", order)
    await device.wait_for(
        lambda: any("feed the cat" in reply.text and reply.ended for reply in device.replies),
        what="the reminder",
        timeout=BOUND_S,
    )
    print(f"device  {device.replies[-1].text}\n")
    found = await commands("GET", f"/reminders/{reminder.get('id')}")
    good = found.get("state") == "delivered" and "feed the cat" in found.get("heard", "")
    commands.check(good, "the reminder is on record as delivered, and heard")


async def _converses(commands: Commands, device: SimulatedDevice) -> None:
    words = "what time is it"
    reply = await device.ask(words)
    print(f"user    {words}\ndevice  {reply.text}\n")
    commands.check(
        reply.stt == words and is_now(reply.text, datetime.now()),  # noqa: DTZ005 - as spoken
        "the device says the time of day",
    )

    def recorded(found: Any) -> bool:  # noqa: ANN401 - JSON
        return any(each["turns"] >= TURNS for each in found.get("conversations", ()))

    listed = await commands.until("/conversations?device=Kitchen", recorded)
    (conversation, *_) = listed.get("conversations") or [{}]
    read = await commands("GET", f"/conversations/{conversation.get('session_id', '')}")
    turns = [turn for turn in read.get("turns", ()) if turn.get("heard") == reply.stt]
    good = bool(reply.stt) and len(turns) == 1 and turns[0].get("said") == reply.text
    commands.check(
        good and has_stages(turns[0]),
        "the conversation is read back, with the stages of its turns",
    )
