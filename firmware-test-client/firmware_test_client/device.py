"""The simulated device: start it, talk to it, wait, inspect what happened."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any

from firmware_test_client.channel import HardClose
from firmware_test_client.config import Voice
from firmware_test_client.live import LiveSound
from firmware_test_client.mcp.tool import Tool
from firmware_test_client.microphone import Spoken
from firmware_test_client.misbehaviour import Misdeeds
from firmware_test_client.observed import REPLY_TIMEOUT, WAIT_TIMEOUT, ObservedDevice
from firmware_test_client.ota import OtaAnswer
from firmware_test_client.pcm import Pcm
from firmware_test_client.replies import Reply
from firmware_test_client.speech import (
    Speech,
    StreamFormat,
    Utterance,
    encoded_noise,
    encoded_speech,
    prepare,
)
from firmware_test_client.state import DeviceState

# Seconds between the last sound and the release of the button: users do not release it within the
# last phoneme, and the frame that is being recorded at the release is lost.
_RELEASE_AFTER = 0.12


class SimulatedDevice(ObservedDevice):
    """One device. Use it as an async context manager, or call `start` and `close`."""

    # Life

    async def __aenter__(self) -> SimulatedDevice:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Boot (OTA) and connect; see `boot` and `connect` for the errors."""
        try:
            await self.boot()
            await self.connect()
        except BaseException:
            await self.close()
            raise

    async def boot(self) -> OtaAnswer | None:
        """Query the OTA endpoint, if the configuration has one; the device is idle afterwards.

        Waits until the device is activated, if that is asked for: run it as a task and wait for
        `wait_for_activation`. Installs a firmware that is offered, and starts again with it.

        Raises:
            OtaError: the endpoint fails, its answer cannot be used, or activation does not end.
        """
        if self.config.share_speech:
            await asyncio.to_thread(encoded_noise, StreamFormat.of(self.config))
        return await self._app.life.start()

    async def connect(self) -> None:
        """Open the channel. In auto and realtime mode the device begins to listen.

        Over MQTT a device that does not begin to listen is connected, without a conversation.

        Raises:
            ConnectError: no connection.
            HelloError: no server hello.
        """
        app = self._app
        await app.protocol.go_online()
        listens = self.config.mode != "manual" and self.config.listen_on_connect
        if listens:
            await app.open_channel(lambda: app.set_listening_mode(app.default_mode))
        elif app.protocol.carrier == "websocket":
            await app.open_channel(app.to_idle)

    async def disconnect(self) -> None:
        """End the conversation; the device is idle and can `connect` again.

        It closes the WebSocket with a close frame, or says goodbye and stays connected to MQTT.
        """
        await self._app.protocol.close()

    async def reconnect(self) -> None:
        """`disconnect`, then `connect`."""
        await self.disconnect()
        await self.connect()

    def disconnect_hard(self, how: HardClose = "reset") -> None:
        """Disconnect without a close frame or DISCONNECT: TCP reset, TCP FIN, or half-open.

        Over MQTT the device connects again as the firmware does (`mqtt_retry`, `pause_scale`).
        """
        self._app.protocol.abort(how)

    async def close(self) -> None:
        """Switch off. Nothing of this device is left in the event loop."""
        if self._application is not None:
            await self._application.close()

    # Talking

    async def ask(
        self, speech: Speech, *, voice: Voice | None = None, timeout: float = REPLY_TIMEOUT
    ) -> Reply:
        """Wait until the device listens, say something, wait for the end of the reply to it.

        In manual mode this is `press_to_talk`.

        Raises:
            SpeechError: the speech cannot be made.
            Disconnected: the connection ended.
            DeviceTimeout: no reply has ended within `timeout` seconds after the speech.
        """
        if self.config.mode == "manual":
            return await self.press_to_talk(speech, voice=voice, timeout=timeout)
        await self._wake_over_mqtt()
        await self.wait_for(
            self.connected_and_listening, what="a listening microphone", timeout=timeout
        )
        count = len(self.replies)
        await self.say(speech, voice=voice)
        return await self.wait_for_reply(after=count, timeout=timeout)

    async def say(self, speech: Speech, *, voice: Voice | None = None) -> Spoken:
        """Say something in real time: a text, a WAV file, or PCM. Returns when it is said.

        What is said while the microphone is off is lost, as in a room. Over MQTT an idle device
        is woken first, see `toggle`; what comes before it listens is lost.
        """
        await self._wake_over_mqtt()
        utterance = await self._prepare(speech, voice)
        spoken = self._app.microphone.speak(utterance)
        self.records.spoken.append(spoken)
        self._app.tracker.asked(spoken.text, spoken.voice_end)
        await asyncio.sleep(max(0.0, spoken.end - self.now))
        return spoken

    def hush(self) -> None:
        """Break off what is being said, as a user does who begins anew."""
        self._app.microphone.hush()
        spoken = self.spoken[-1] if self.spoken else None
        if spoken is not None and spoken.end > self.now:
            pcm = spoken.utterance.pcm
            said = pcm.data[: 2 * max(0, round((self.now - spoken.start) * pcm.rate))]
            utterance = replace(spoken.utterance, pcm=Pcm(said, pcm.rate))
            self.spoken[-1] = replace(spoken, end=self.now, utterance=utterance)

    def plug_in(
        self,
        *,
        microphone: LiveSound | None = None,
        loudspeaker: Callable[[Pcm], None] | None = None,
    ) -> None:
        """Hear with a real microphone too, and pass on each frame when it begins to sound.

        A microphone needs `uplink_rate` 16000 and `share_speech` False, a loudspeaker `decode`.
        """
        self._app.microphone.live = microphone
        self._app.loudspeaker = loudspeaker

    async def _prepare(self, speech: Speech, voice: Voice | None) -> Utterance:
        config = self.config
        utterance = await prepare(speech, voice or config.voice, config.uplink_rate)
        if config.share_speech:
            await asyncio.to_thread(encoded_speech, utterance, StreamFormat.of(config))
        return utterance

    async def _wake_over_mqtt(self) -> None:
        """Open the channel of a device that is idle without one."""
        app = self._app
        idle = self.state is DeviceState.IDLE and not app.protocol.channel_open
        if not idle or app.protocol.carrier == "websocket":
            return
        if self.config.mode == "manual":
            await app.open_channel(app.to_idle)
        else:
            await self.toggle()

    async def type_text(self, text: str, *, timeout: float = REPLY_TIMEOUT) -> Reply:
        """Send typed words as text clients do (`listen detect`), wait for the reply's end."""
        await self._wake_over_mqtt()
        count = len(self.replies)
        self._app.tracker.asked(text, self.now)
        await self.send_json({"type": "listen", "state": "detect", "text": text})
        return await self.wait_for_reply(after=count, timeout=timeout)

    async def press_to_talk(
        self, speech: Speech, *, voice: Voice | None = None, timeout: float = REPLY_TIMEOUT
    ) -> Reply:
        """Press the button, speak, let go, wait for the reply's end."""
        await self._prepare(speech, voice)  # so that nothing is synthesised while it is held
        count = len(self.replies)
        await self.press()
        await self.say(speech, voice=voice)
        await asyncio.sleep(_RELEASE_AFTER)
        await self.release()
        return await self.wait_for_reply(after=count, timeout=timeout)

    async def press(self) -> None:
        """Press the push-to-talk button; a reply that is being spoken is aborted.

        Returns when the microphone is recording.
        """
        app = self._app
        if self.state is DeviceState.IDLE and not self.channel_open:
            await app.open_channel(lambda: app.set_listening_mode("manual"))
        else:
            app.press()
        await self.wait_for(lambda: self.listening, what="push-to-talk", timeout=WAIT_TIMEOUT)
        await asyncio.sleep(max(0.0, app.microphone.records_from - self.now))

    async def release(self) -> None:
        """Let go of the push-to-talk button."""
        self._app.release()
        await self.flush()

    async def wake(self, word: str = "hey vixio", *, audio: bool = True) -> None:
        """Say the wake word to the device, in any state.

        From idle: connects if necessary, sends the word's audio in one burst (unless `audio` is
        false), then `listen detect` and `listen start`. In a conversation: aborts.
        """
        app = self._app
        if self.state is DeviceState.IDLE:
            utterance = await self._prepare(word, None)
            packets = encoded_speech(utterance, StreamFormat.of(self.config)) if audio else ()
            app.tracker.asked(word, self.now)
            await app.open_channel(lambda: app.wake_from_idle(word, packets))
        else:
            app.wake_during_conversation()
        await self.flush()

    async def abort(self, reason: str | None = None) -> None:
        """Ask the server to stop speaking; the device plays on until `tts stop`."""
        self._app.abort_speaking(reason)
        await self.flush()

    async def toggle(self) -> None:
        """Press the chat button (HandleToggleChatEvent)."""
        app = self._app
        if self.state is DeviceState.ACTIVATING:
            app.to_idle()  # ends a wait before the next OTA request or activation poll
        elif self.state is DeviceState.IDLE:
            await app.open_channel(lambda: app.set_listening_mode(app.default_mode))
        elif self.state is DeviceState.SPEAKING:
            await self.abort()
        elif self.state is DeviceState.LISTENING:
            await self.disconnect()

    # Raw messages

    async def send_json(self, body: dict[str, Any]) -> None:
        """Send a JSON message with `session_id` as its first key."""
        session = {"session_id": self.session_id}
        await self.send_text(json.dumps(session | body, ensure_ascii=False))

    async def send_text(self, text: str) -> None:
        """Send a text message as it is. Raises Disconnected if there is no connection."""
        self._app.protocol.send(text)
        await self.flush()

    async def send_binary(self, data: bytes) -> None:
        """Send a binary frame, over MQTT a UDP datagram, as it is.

        Raises:
            Disconnected: there is no connection.
        """
        self._app.protocol.send(data)
        await self.flush()

    async def flush(self) -> None:
        """Wait until everything is written. Raises Disconnected if the connection ends first."""
        await self._app.protocol.flush()

    async def ping(self, timeout: float = WAIT_TIMEOUT) -> float:
        """Ping of WebSocket or MQTT; the round trip in seconds. Raises Disconnected without it."""
        return await self._app.protocol.ping(timeout)

    @property
    def misdeeds(self) -> Misdeeds:
        """Faults on demand."""
        return Misdeeds(self._app)

    # Tools

    def add_tool(self, tool: Tool, *, notify: bool = True) -> None:
        """Add a tool and, if connected, notify the server (`notify`)."""
        self.mcp.add(tool)
        self._tools_changed(notify)

    def remove_tool(self, name: str, *, notify: bool = True) -> None:
        """Remove a tool and, if connected, notify the server (`notify`)."""
        self.mcp.remove(name)
        self._tools_changed(notify)

    def _tools_changed(self, notify: bool) -> None:
        if notify and self.online:
            self._app.protocol.send_mcp(
                '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
            )
