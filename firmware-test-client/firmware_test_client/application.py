"""The firmware's application: states, buttons, wake word, reactions to messages.

Follows main/application.cc; each method names the function that it follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from firmware_test_client.boot import Boot
from firmware_test_client.carriers import Carriers
from firmware_test_client.config import Codec, DeviceConfig, ListeningMode
from firmware_test_client.errors import DeviceError
from firmware_test_client.framing import AudioPacket
from firmware_test_client.life import Life
from firmware_test_client.main_task import MainTask, Slow, Work
from firmware_test_client.mcp.faults import FaultyOutbox
from firmware_test_client.mcp.hardware import Hardware
from firmware_test_client.mcp.server import McpServer
from firmware_test_client.microphone import Microphone
from firmware_test_client.opus import OpusError
from firmware_test_client.ota import running_app
from firmware_test_client.pcm import Pcm
from firmware_test_client.playout import Heard, Playout
from firmware_test_client.protocol import DeviceProtocol
from firmware_test_client.records import CloseInfo, Records
from firmware_test_client.replies import Reply
from firmware_test_client.screen import Screen
from firmware_test_client.speaking import SpeakingSwitch
from firmware_test_client.speech import StreamFormat
from firmware_test_client.state import DeviceState, StateMachine
from firmware_test_client.tracker import ReplyTracker
from firmware_test_client.uplink import Uplink


class Application:
    """The device itself. `SimulatedDevice` drives it."""

    def __init__(self, config: DeviceConfig, records: Records) -> None:
        self._loop = asyncio.get_running_loop()
        self.config = config
        self._records = records
        self.machine = StateMachine(self._on_state)
        self.mode: ListeningMode = config.mode
        self.tracker = ReplyTracker(records)
        self._carriers = Carriers(config, records, self, self._loop.time)
        self.screen = Screen(records, self.tracker, config.text_font)
        self._uplink = Uplink(self._carriers.send_audio, lambda: self.main.busy, records.counters)
        self.main: MainTask = MainTask(self._uplink.flush)
        self.schedule = self.main.schedule
        self.playout = Playout(self._loop, self, decode=config.decode)
        self.microphone = Microphone(
            self._loop, StreamFormat.of(config), self._uplink.push, shared=config.share_speech
        )
        self._outbox = FaultyOutbox(config.misbehaviour.mcp, self._carriers.send_mcp)
        self.mcp = McpServer(
            config.board,
            running_app(config).version,
            self._outbox.answer,
            self._schedule_mcp,
            self._loop.time,
        )
        boot = Boot(config, records, self.machine, self.screen, self._carriers.start)
        self.life = Life(config, records, boot, self.mcp, lambda: self.protocol, self._run_beside)
        self.hardware = Hardware(
            on_reboot=lambda: self.life.restart_soon(after=1),  # once the call is answered
            on_upgrade=lambda url: self.main.schedule(lambda: self.life.upgrade(url)),
        )
        self._speaking = SpeakingSwitch(config.speaking_delay_ms / 1000, self._begin_reply)
        self._pending_listening_start = False
        self._popup_on_listening = False
        self._background: set[asyncio.Future[None]] = set()
        self.loudspeaker: Callable[[Pcm], None] | None = None

    @property
    def protocol(self) -> DeviceProtocol:
        """The protocol in use."""
        return self._carriers.current

    @property
    def state(self) -> DeviceState:
        """GetDeviceState."""
        return self.machine.state

    @property
    def default_mode(self) -> ListeningMode:
        """GetDefaultListeningMode: realtime with echo cancellation, else auto."""
        return "realtime" if self.config.mode == "realtime" else "auto"

    # Opening and closing

    async def open_channel(self, then: Callable[[], None]) -> None:
        """Go through Connecting, open the channel if need be, then do `then`.

        Follows ContinueOpenAudioChannel and ContinueWakeWordInvoke. The main task is busy
        meanwhile, so messages that follow the server's hello at once are handled afterwards.

        Raises:
            ConnectError, HelloError: the device is idle again.
        """
        done: asyncio.Future[None] = self._loop.create_future()
        self.machine.to(DeviceState.CONNECTING)
        self.main.schedule(lambda: self._open(then, done))
        await done

    async def _open(self, then: Callable[[], None], done: asyncio.Future[None]) -> None:
        try:
            if not self.protocol.channel_open:
                await self.protocol.open_audio_channel()
        except DeviceError as error:
            self.machine.to(DeviceState.IDLE)
            if not done.done():
                done.set_exception(error)
            return
        if self.protocol.hello_awaited:
            then()
        else:
            self.machine.to(DeviceState.IDLE)
        if not done.done():
            done.set_result(None)

    async def close(self) -> None:
        """Switch the device off."""
        self.microphone.stop()
        await self.main.close()
        await self.protocol.shut_down()
        self._outbox.close()
        for work in list(self._background):
            work.cancel()
        if self._background:
            await asyncio.wait(self._background)
        self.playout.close()

    def _run_beside(self, work: Slow) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _schedule_mcp(self, work: Work) -> None:
        if not self.config.misbehaviour.mcp.concurrent:
            self.main.schedule(work)
            return
        slow = work()
        if slow is not None:
            self._run_beside(slow)

    # Buttons and wake word

    def set_listening_mode(self, mode: ListeningMode) -> None:
        """SetListeningMode."""
        self.mode = mode
        self.machine.to(DeviceState.LISTENING)

    def abort_speaking(self, reason: str | None) -> None:
        """AbortSpeaking: sends a message; the state changes with `tts stop`."""
        if self.tracker.current is not None and not self.tracker.current.ended:
            self.tracker.current.aborted = True
        self.protocol.send_abort(reason)

    def press(self) -> None:
        """HandleStartListeningEvent, with the channel already open."""
        if self.state is DeviceState.IDLE:
            self.set_listening_mode("manual")
        elif self.state is DeviceState.SPEAKING:
            self.abort_speaking(None)
            self.set_listening_mode("manual")

    def release(self) -> None:
        """HandleStopListeningEvent."""
        if self.state is DeviceState.LISTENING:
            self.microphone.catch_up()
            self.protocol.send_stop_listening()
            self.machine.to(DeviceState.IDLE)

    def wake_during_conversation(self) -> None:
        """HandleWakeWordDetectedEvent in Speaking and Listening."""
        was_listening = self.state is DeviceState.LISTENING
        self.abort_speaking("wake_word_detected")
        self._uplink.clear()
        if was_listening:
            self.protocol.send_start_listening(self.default_mode)
            self._reset_decoder()
        else:
            self._popup_on_listening = True
            self.set_listening_mode(self.default_mode)

    def wake_from_idle(self, word: str, packets: tuple[bytes, ...]) -> None:
        """The end of ContinueWakeWordInvoke, built with CONFIG_SEND_WAKE_WORD_DATA."""
        for packet in packets:
            self.protocol.send_audio(AudioPacket(packet))
        self.protocol.send_wake_word_detected(word)
        self.set_listening_mode(self.default_mode)

    # State changes

    def _on_state(self, state: DeviceState) -> None:
        """HandleStateChangedEvent."""
        self._pending_listening_start = False
        self.screen.follow(state)
        if state in (DeviceState.IDLE, DeviceState.STARTING):
            self.microphone.stop()
        elif state is DeviceState.LISTENING:
            if self._popup_on_listening or not self.microphone.on:
                if self.mode == "auto" and not self.playout.idle:
                    # The rest is played first; on_drained then starts to listen.
                    self._pending_listening_start = True
                else:
                    self._start_listening_audio()
        elif state is DeviceState.SPEAKING:
            if self.mode != "realtime":
                self.microphone.stop()
            self._reset_decoder()
        if state is not DeviceState.SPEAKING and self.playout.idle:
            self.tracker.silent()
        self._records.changed()

    def _start_listening_audio(self) -> None:
        """StartListeningAudio; EnableVoiceProcessing resets the decoder."""
        if self.state is not DeviceState.LISTENING:
            return
        self.protocol.send_start_listening(self.mode)
        self._reset_decoder()
        self.microphone.start()
        self._popup_on_listening = False

    def _reset_decoder(self) -> None:
        self._uplink.forget_timestamps()
        self.playout.reset()

    # PlayoutObserver

    def on_sound(self, pcm: bytes, rate: int, start: float) -> None:
        """Feed the loudspeaker's sound into the microphone, and to whom it is passed on."""
        if self.loudspeaker is not None:
            self.loudspeaker(Pcm(pcm, rate))
        if self.config.echo_db is not None:
            reaches = start + self.config.echo_delay_ms / 1000
            self.microphone.overhear(Pcm(pcm, rate), reaches, self.config.echo_db)

    def on_heard(self, heard: Heard, timestamp: int) -> None:
        """AudioOutputTask has played a frame."""
        if self.config.server_aec:
            self._uplink.played(timestamp)
        if self.config.decode:
            self._records.heard.append(heard)
            self._records.replies[heard.reply].heard_chunks.append(heard.pcm)

    def on_decode_error(self, reply: Reply, error: str) -> None:
        """OpusCodecTask has dropped a packet."""
        self._records.counters.decode_errors += 1
        self._records.violations.append(f"undecodable packet in reply {reply.index}: {error}")

    def on_drained(self) -> None:
        """MAIN_EVENT_PLAYBACK_DRAINED."""
        if self.state is not DeviceState.SPEAKING:
            self.tracker.silent()
        if self._pending_listening_start and self.state is DeviceState.LISTENING:
            self._pending_listening_start = False
            self._start_listening_audio()
        self._records.changed()

    # ProtocolObserver

    def on_server_hello(self, rate: int, frame_ms: int, codec: Codec) -> None:
        """The decoder follows the server's hello."""
        try:
            self.playout.configure(rate, frame_ms, codec)
        except OpusError as error:
            self._records.violations.append(f"server hello: {error}")

    def on_audio(self, packet: AudioPacket, now: float) -> None:
        """OnIncomingAudio: played in Speaking, dropped in every other state."""
        self._speaking.catch_up(now)
        reply = self.tracker.current
        if self.state is DeviceState.SPEAKING and reply is not None:
            if not self.playout.push(packet, reply, now):
                self._records.counters.overflows += 1
            return
        self._records.counters.audio_outside_speaking += 1
        try:
            duration = self.playout.duration_ms(packet.payload)
        except OpusError:
            duration = 0.0  # not decodable, so nothing is lost
        if self._speaking.pending:
            self._records.counters.audio_before_speaking += 1
            self.tracker.too_early(duration)
        elif reply is not None and reply.tts_stop is not None:
            reply.clipped_ms += duration

    def on_channel_closed(self, close: CloseInfo) -> None:
        """OnAudioChannelClosed."""
        if not self.protocol.online:
            self._outbox.close()
        self.tracker.cut()
        self.screen.clear()
        self.main.schedule(self.to_idle)

    def on_connected(self) -> None:
        """DismissAlert."""
        if self.state is DeviceState.IDLE:
            self.screen.clear()

    def on_network_error(self, message: str) -> None:
        """MAIN_EVENT_ERROR."""
        self.machine.to(DeviceState.IDLE)
        self.screen.notice("Error", message, "cancel", "exclamation")

    def to_idle(self) -> None:
        """Change to Idle from any state."""
        self.machine.to(DeviceState.IDLE)

    def on_json(self, kind: str, body: dict[str, Any], now: float) -> None:
        """OnIncomingJson."""
        self.screen.take_glyphs(kind, body)
        if kind == "tts":
            self._on_tts(body, now)
        elif kind == "mcp":
            self._on_mcp(body)
        elif kind == "system":
            self._on_system(body)
        elif kind == "speak_request":
            if self.config.speak_request:  # else it logs an unknown message, which is no fault
                self.main.schedule(self._speak_request)
        elif not self.screen.show(kind, body) and kind != "pong":
            self._records.violations.append(f"unknown message type {kind!r}")

    def _on_tts(self, body: dict[str, Any], now: float) -> None:
        state, text = body.get("state"), body.get("text")
        if state == "start":
            self._speaking.pending += 1
            self.main.schedule(lambda: self._tts_start(now))
        elif state == "stop":
            self.main.schedule(lambda: self._tts_stop(now))
        elif state == "sentence_start" and isinstance(text, str):
            self.main.schedule(lambda: self._sentence(text, now))
        else:
            self._records.violations.append(f"useless tts message: {body}")

    def _tts_start(self, arrived: float) -> Slow | None:
        """The task that OnIncomingJson schedules, then HandleStateChangedEvent."""
        at_once = self.state is DeviceState.SPEAKING
        return self._speaking.start(arrived, self._loop.time(), at_once=at_once)

    def _begin_reply(self, arrived: float) -> None:
        reply = self.tracker.current
        if self.state is DeviceState.SPEAKING and reply is not None and not reply.ended:
            return  # the same state again: the decoder is not reset
        if self.machine.to(DeviceState.SPEAKING):
            self.tracker.start(arrived)
            self._records.changed()

    def _sentence(self, text: str, now: float) -> None:
        self.tracker.sentence(text, now)
        self.screen.write(text)
        self._records.changed()

    def _tts_stop(self, now: float) -> None:
        self.tracker.stop(now)
        if self.state is not DeviceState.SPEAKING:
            return
        if self.config.flush_on_stop:
            self._reset_decoder()
        idle = self.mode == "manual"
        self.machine.to(DeviceState.IDLE if idle else DeviceState.LISTENING)

    def _speak_request(self) -> Slow | None:
        """The server asks to speak (pull request 1939 of 78/xiaozhi-esp32); only in Idle."""
        if self.state is not DeviceState.IDLE:
            return None
        self.machine.to(DeviceState.CONNECTING)
        done: asyncio.Future[None] = self._loop.create_future()
        done.add_done_callback(asyncio.Future.exception)  # a failure is shown, nothing more
        return self._open(self._ready_to_speak, done)

    def _ready_to_speak(self) -> None:
        """An ordinary packet tells the server this device's address, through a router's NAT."""
        self.protocol.send_audio(AudioPacket(self.config.nat_payload))
        self.mode = self.default_mode
        self.machine.to(DeviceState.SPEAKING)
        self.protocol.send_speak_ready()

    def _on_mcp(self, body: dict[str, Any]) -> None:
        payload = body.get("payload")
        if not isinstance(payload, dict):
            self._records.violations.append("mcp without a payload object")
        elif self.config.mcp:
            params = payload.get("params")
            if payload.get("method") == "tools/call" and isinstance(params, dict):
                self.tracker.tool_call(str(params.get("name")))
            self.mcp.on_message(payload)

    def _on_system(self, body: dict[str, Any]) -> None:
        if body.get("command") == "reboot":
            self.hardware.reboots += 1
            self.main.schedule(self.life.restart_soon)
        else:
            self._records.violations.append(f"unknown system command {body.get('command')!r}")
