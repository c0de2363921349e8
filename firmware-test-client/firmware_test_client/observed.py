"""State, records and bounded waits of a device. The base of `SimulatedDevice`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from firmware_test_client.application import Application
from firmware_test_client.config import DeviceConfig, ListeningMode
from firmware_test_client.errors import Disconnected, OtaError
from firmware_test_client.mcp.camera import explain
from firmware_test_client.mcp.hardware import Hardware, common_tools, user_only_tools
from firmware_test_client.mcp.server import McpServer
from firmware_test_client.mcp.snapshot import post_screen
from firmware_test_client.mcp.tool import dumps
from firmware_test_client.microphone import Spoken
from firmware_test_client.ota import Activation, OtaAnswer, running_app, system_info
from firmware_test_client.pcm import Pcm
from firmware_test_client.playout import Heard
from firmware_test_client.protocol import Carrier
from firmware_test_client.records import CloseInfo, Counters, Direction, Frame, Notice, Records
from firmware_test_client.replies import Reply, Sentence
from firmware_test_client.state import DeviceState
from firmware_test_client.timeline import loudspeaker_side, write_conversation
from firmware_test_client.upgrade import Upgrade

T = TypeVar("T")
REPLY_TIMEOUT = 90.0  # seconds, more than a server gives a turn; the speech itself is not counted
WAIT_TIMEOUT = 30.0  # seconds; these catch what never comes, on a busy machine too


class ObservedDevice:
    """The observing half of a simulated device."""

    def __init__(self, config: DeviceConfig) -> None:
        self.config = config
        self.records = Records(keep_frames=config.keep_frames)
        self._application: Application | None = None
        self._started_at = 0.0

    @property
    def _app(self) -> Application:
        if self._application is None:
            self._started_at = asyncio.get_running_loop().time()
            self._application = app = Application(self.config, self.records)
            photograph = self._photograph if self.config.camera else None
            for tool in common_tools(app.hardware, photograph):
                app.mcp.add(tool)
            info = lambda: dumps(system_info(self.config))  # noqa: E731 - of this device
            for tool in user_only_tools(app.hardware, info, self._snapshot):
                app.mcp.add(tool)
        return self._application

    async def _photograph(self, question: str) -> str:
        app = self._app
        return await explain(self.config, app.mcp.vision, question, app.hardware.photo)

    async def _snapshot(self, url: str, quality: int) -> bool:
        del quality  # the picture is always the same
        return await post_screen(url, self._app.hardware.screenshot, self.config.http_timeout)

    # Waiting

    async def wait_for(
        self, predicate: Callable[[], T | None], *, what: str, timeout: float = WAIT_TIMEOUT
    ) -> T:
        """Wait until `predicate()` returns a true value, and return that value.

        It is called after every message, state change and played-out reply, and every 50 ms.

        Raises:
            DeviceTimeout: names `what`, the state, a reply without an end, the last frames.
        """
        return await self.records.wait_for(
            predicate, what=what, timeout=timeout, state=self._situation
        )

    def _situation(self) -> str:
        """What a timeout says of the device."""
        parts = [f"state {self.state.value}"]
        if not self.connected:
            parts.append("online, no conversation" if self.online else "not connected")
        if not self.caught_up:
            parts.append("main task busy")
        reply = self.replies[-1] if self.replies else None
        if reply is not None and not reply.ended:
            stop = "no tts stop"
            if reply.tts_stop is not None:
                stop = f"tts stop {reply.tts_stop - self.now:+.3f} s"
            start = f"tts start {reply.tts_start - self.now:+.3f} s"
            parts.append(f"reply {reply.index} has not ended: {start}, {stop}")
        return ", ".join(parts)

    async def wait_for_state(
        self, state: DeviceState | str, *, timeout: float = WAIT_TIMEOUT
    ) -> None:
        """Wait for a state, by its name in lower case."""
        await self.wait_for(lambda: self.state == state, what=f"state {state}", timeout=timeout)

    async def wait_for_frame(
        self,
        type: str,
        *,
        direction: Direction = "in",
        where: Callable[[Frame], bool] | None = None,
        since: int = 0,
        timeout: float = WAIT_TIMEOUT,
    ) -> Frame:
        """Wait for a frame of a `type` ("audio": binary), from index `since` of `frames` on."""

        def found() -> Frame | None:
            for frame in self.frames[since:]:
                wanted = frame.type == type and frame.direction == direction
                if wanted and (where is None or where(frame)):
                    return frame
            return None

        return await self.wait_for(found, what=f"{direction} frame {type!r}", timeout=timeout)

    async def wait_for_reply(
        self, *, after: int | None = None, timeout: float = REPLY_TIMEOUT
    ) -> Reply:
        """Wait for the end of reply number `after` (None: of the one under way, or the next).

        Raises:
            Disconnected: the connection ended before the reply did.
            DeviceTimeout: not within `timeout` seconds.
        """
        ended = sum(reply.ended for reply in self.replies)
        index = ended if after is None else after
        in_conversation = self.connected  # an idle device may be spoken to over MQTT

        def finished() -> Reply | None:
            reply = self.replies[index] if index < len(self.replies) else None
            if reply is not None and reply.ended and not reply.cut:
                return reply
            if in_conversation or not self.online:
                self._check_connected("before the reply ended")
            return None

        return await self.wait_for(finished, what=f"the end of reply {index}", timeout=timeout)

    def connected_and_listening(self) -> bool:
        """Return `listening`; raise Disconnected if there is no connection."""
        self._check_connected("while the device should listen")
        return self.listening

    def _check_connected(self, when: str) -> None:
        if not self.connected:
            close = self.records.closes[-1] if self.records.closes else None
            how = f": {close.code} {close.reason}".rstrip() if close is not None else ""
            raise Disconnected(f"no connection {when}{how}")

    async def wait_for_close(self, *, timeout: float = WAIT_TIMEOUT) -> CloseInfo:
        """Wait until the connection, over MQTT the conversation, is closed by either side."""
        await self.wait_for(
            lambda: self.records.closes and not self.connected, what="the close", timeout=timeout
        )
        return self.records.closes[-1]

    # Waiting for the start

    async def wait_for_activation(
        self, *, after: int = 0, timeout: float = WAIT_TIMEOUT
    ) -> Activation:
        """Wait until the device has been asked `after` + 1 times to be activated.

        Call it while `boot` or `start` runs as a task. The code has been shown and read aloud, and
        the device polls.

        Raises:
            OtaError: the boot failed, or ended without asking for activation.
        """
        booted = self._app.life.starts

        def asked() -> Activation | None:
            if len(self.activations) > after:
                return self.activations[after]
            self._check_boot()
            if self._app.life.starts > booted:
                raise OtaError("the device has started without being asked to be activated")
            return None

        return await self.wait_for(asked, what="activation", timeout=timeout)

    async def wait_for_upgrade(self, *, after: int = 0, timeout: float = WAIT_TIMEOUT) -> Upgrade:
        """Wait for the end of upgrade number `after`: its `error`, or the installed `app`."""

        def ended() -> Upgrade | None:
            if len(self.upgrades) > after and self.upgrades[after].ended:
                return self.upgrades[after]
            self._check_boot()
            return None

        return await self.wait_for(ended, what=f"the end of upgrade {after}", timeout=timeout)

    async def wait_for_boot(self, count: int, *, timeout: float = WAIT_TIMEOUT) -> None:
        """Wait until the device has started for the nth time and is idle or in a conversation.

        Raises:
            OtaError: that start failed.
        """

        def started() -> bool:
            self._check_boot()
            return len(self.boots) >= count and self._app.life.ready

        await self.wait_for(started, what=f"start {count}", timeout=timeout)

    def _check_boot(self) -> None:
        if self._app.life.error is not None:
            raise self._app.life.error

    # What happened

    @property
    def now(self) -> float:
        """The clock of all records: the event loop's, in seconds."""
        return asyncio.get_running_loop().time()

    @property
    def state(self) -> DeviceState:
        """The state; compares equal to its name in lower case."""
        return self._app.state

    @property
    def listening(self) -> bool:
        """In the state Listening with the microphone on."""
        return self.state is DeviceState.LISTENING and self._app.microphone.on

    @property
    def caught_up(self) -> bool:
        """Whether every received message has taken effect; `tts start` takes its delay."""
        return not self._app.main.busy

    @property
    def screen_settled(self) -> bool:
        """Whether nothing that has happened will still clear the screen."""
        return self._app.screen.clearing == 0

    @property
    def mode(self) -> ListeningMode:
        """The listening mode now in force."""
        return self._app.mode

    @property
    def connected(self) -> bool:
        """Whether there is a WebSocket, or a conversation over MQTT and UDP."""
        return self._app.protocol.connected

    @property
    def online(self) -> bool:
        """Whether the server reaches the device; over MQTT also without a conversation."""
        return self._app.protocol.online

    @property
    def channel_open(self) -> bool:
        """Connected, with a message within 120 s; otherwise the next use connects again."""
        return self._app.protocol.channel_open

    @property
    def carrier(self) -> Carrier:
        """`websocket`, or `mqtt` with audio by UDP."""
        return self._app.protocol.carrier

    @property
    def session_id(self) -> str:
        """From the server's hello."""
        return self._app.protocol.session_id

    @property
    def mcp(self) -> McpServer:
        """The device's MCP server: tools, calls, vision."""
        return self._app.mcp

    @property
    def hardware(self) -> Hardware:
        """The state that the tools change."""
        return self._app.hardware

    @property
    def volume(self) -> int:
        """0..100."""
        return self._app.hardware.volume

    @property
    def brightness(self) -> int:
        """0..100."""
        return self._app.hardware.brightness

    @property
    def theme(self) -> str:
        """light or dark."""
        return self._app.hardware.theme

    @property
    def reboots(self) -> int:
        """How often the device received a reboot command."""
        return self._app.hardware.reboots

    @property
    def ota(self) -> OtaAnswer | None:
        """The newest OTA answer with which the device has started."""
        return self._app.life.ota

    @property
    def firmware_version(self) -> str:
        """Of the firmware that runs, or will run after the restart that follows an upgrade."""
        return running_app(self.config).version

    @property
    def boots(self) -> list[str]:
        """Of each start, the version that started."""
        return self.records.boots

    @property
    def activations(self) -> list[Activation]:
        """Each time that the device was asked to be activated."""
        return self.records.activations

    @property
    def upgrades(self) -> list[Upgrade]:
        """Every attempt to install a firmware."""
        return self.records.upgrades

    @property
    def screen(self) -> list[str]:
        """A line for each change of what is shown."""
        return self.records.screen

    @property
    def sounds(self) -> list[str]:
        """The device's own sounds: activation, upgrade, exclamation, and digits as read aloud."""
        return self.records.sounds

    @property
    def frames(self) -> list[Frame]:
        """Every message in the order of sending and receiving (if `keep_frames`)."""
        return self.records.frames

    @property
    def replies(self) -> list[Reply]:
        """Every reply, including an unfinished one."""
        return self.records.replies

    @property
    def counters(self) -> Counters:
        """Counts, which are kept even without `keep_frames`."""
        return self.records.counters

    @property
    def stt_texts(self) -> list[str]:
        """The user's words, as the server recognised them."""
        return self.records.stt_texts

    @property
    def sentences(self) -> list[Sentence]:
        """Every subtitle."""
        return self.records.sentences

    @property
    def emotions(self) -> list[str]:
        """Every face."""
        return self.records.emotions

    @property
    def alerts(self) -> list[dict[str, object]]:
        """Every alert with its three fields."""
        return self.records.alerts

    @property
    def notices(self) -> list[Notice]:
        """Every alert, also of the device's own, and for how long it stood on the screen."""
        return self.records.notices

    @property
    def violations(self) -> list[str]:
        """Received messages that a server must not send. Empty with a correct server."""
        return self.records.violations

    @property
    def spoken(self) -> list[Spoken]:
        """What the user said."""
        return self.records.spoken

    @property
    def heard(self) -> list[Heard]:
        """Every frame that came out of the loudspeaker (if `decode`)."""
        return self.records.heard

    def heard_pcm(self) -> Pcm:
        """The loudspeaker's side from the start of the device, silence between replies."""
        until = max((heard.time + heard.duration for heard in self.heard), default=0.0)
        return loudspeaker_side(self.records, self._started_at, until)

    def write_wav(self, path: Path | str) -> None:
        """Write the conversation: left the user, right the loudspeaker, on one time line."""
        write_conversation(self.records, Path(path), self._started_at)
