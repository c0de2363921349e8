"""The server's JSON messages, as the firmware handles them.

Each function cites its branch of application.cc, InitializeProtocol, the callback given to
``OnIncomingJson``: a field that this callback demands is a parameter, one it ignores is absent.
"""

from __future__ import annotations

from vixio.core.tools.types import JsonObject


def stt(text: str) -> JsonObject:
    """Show the user's words ("stt": ``text`` must be a string)."""
    return {"type": "stt", "text": text}


def llm(emotion: str, emoji: str) -> JsonObject:
    """Change the face ("llm": only ``emotion`` is read; other clients show ``text``)."""
    return {"type": "llm", "emotion": emotion, "text": emoji}


def tts_start() -> JsonObject:
    """Enter Speaking ("tts", "start"); audio is dropped in every other state (OnIncomingAudio)."""
    return {"type": "tts", "state": "start"}


def tts_sentence_start(text: str) -> JsonObject:
    """Show a subtitle ("tts", "sentence_start": ``text`` must be a string)."""
    return {"type": "tts", "state": "sentence_start", "text": text}


def tts_stop() -> JsonObject:
    """Leave Speaking ("tts", "stop"): to Listening, or to Idle in manual mode."""
    return {"type": "tts", "state": "stop"}


def goodbye() -> JsonObject:
    """End the conversation on MQTT, where nothing is closed (mqtt_protocol.cc, "goodbye"): only
    with the session's id, which all messages have."""
    return {"type": "goodbye"}


def speak_request(text: str) -> JsonObject:
    """Ask an idle device to open its audio channel, and to speak (78/xiaozhi-esp32, pull request
    1939). ``text``: shown until then. A firmware that does not know it ignores it."""
    return {"type": "speak_request", "text": text}


def alert(status: str, message: str, emotion: str) -> JsonObject:
    """Show a notice and vibrate ("alert": without all three strings it is ignored)."""
    return {"type": "alert", "status": status, "message": message, "emotion": emotion}


def reboot() -> JsonObject:
    """Restart the device ("system": "reboot" is the only command it knows)."""
    return {"type": "system", "command": "reboot"}


def custom(payload: JsonObject) -> JsonObject:
    """Show a JSON object ("custom", if built with CONFIG_RECEIVE_CUSTOM_MESSAGE)."""
    return {"type": "custom", "payload": payload}


def pong() -> JsonObject:
    """Answer the ``ping`` of a client that has one; the firmware has not."""
    return {"type": "pong"}


def keepalive() -> JsonObject:
    """Return a text without effect on the device.

    The firmware gives a channel up when 120 s bring no DATA frame: ``last_incoming_time_`` is set
    in the OnData callback alone (websocket_protocol.cc, OpenAudioChannel; protocol.cc, IsTimeout),
    and its WebSocket answers pings without calling that (esp-ml307, web_socket.cc, OnTcpData).
    Branch "tts" compares a string ``state`` with three names and does nothing, not even a log line,
    for another; clients that read ``state`` without a look at its type find a string here too.
    """
    return {"type": "tts", "state": "keepalive"}
