"""A simulated xiaozhi device that behaves as the firmware does. See README.md."""

from firmware_test_client.config import (
    DeviceConfig,
    ListeningMode,
    McpFaults,
    Misbehaviour,
    Mqtt,
    Network,
    Voice,
)
from firmware_test_client.device import SimulatedDevice
from firmware_test_client.errors import (
    ConnectError,
    DeviceError,
    DeviceTimeout,
    Disconnected,
    HelloError,
    OtaError,
    SpeechError,
)
from firmware_test_client.flash import App, Flash
from firmware_test_client.live import LiveSound
from firmware_test_client.mcp.properties import Property
from firmware_test_client.mcp.tool import NO_ANSWER, Image, Tool
from firmware_test_client.microphone import Spoken
from firmware_test_client.ota import Activation, OtaAnswer
from firmware_test_client.pcm import Pcm
from firmware_test_client.records import CloseInfo, Counters, Frame
from firmware_test_client.replies import Reply, Sentence
from firmware_test_client.state import DeviceState
from firmware_test_client.upgrade import Upgrade

__version__ = "0.1.0"

__all__ = [
    "NO_ANSWER",
    "Activation",
    "App",
    "CloseInfo",
    "ConnectError",
    "Counters",
    "DeviceConfig",
    "DeviceError",
    "DeviceState",
    "DeviceTimeout",
    "Disconnected",
    "Flash",
    "Frame",
    "HelloError",
    "Image",
    "ListeningMode",
    "LiveSound",
    "McpFaults",
    "Misbehaviour",
    "Mqtt",
    "Network",
    "OtaAnswer",
    "OtaError",
    "Pcm",
    "Property",
    "Reply",
    "Sentence",
    "SimulatedDevice",
    "SpeechError",
    "Spoken",
    "Tool",
    "Upgrade",
    "Voice",
]
