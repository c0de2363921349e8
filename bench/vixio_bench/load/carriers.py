"""What it costs that devices are always connected: MQTT and UDP beside the WebSocket."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, Literal

from firmware_test_client import Mqtt
from vixio_bench.load.figures import Result
from vixio_bench.load.marks import Verdict

Carrier = Literal["websocket", "mqtt"]

SCHEME: Final = "mqtt://"
SECTION: Final = {"port": 0, "udp_port": 0}
"""Of the settings."""

TALKING: Final = 1.2
"""CPU of a device in conversation, at most so many times that of one over the WebSocket."""
IDLE_DEVICES: Final = 1_000
IDLE_KB: Final = 60.0
IDLE_CPU: Final = 0.0002
"""Of a core, for one of :data:`IDLE_DEVICES`."""


def address(url: str, device_id: str, client_id: str) -> dict[str, Any]:
    """Return the fields of a device's configuration for a URL of a server, as OTA would."""
    if not url.startswith(SCHEME):
        return {"ws_url": url, "mqtt": None}
    mqtt = Mqtt(
        endpoint=url.removeprefix(SCHEME),
        client_id=device_id,
        username=client_id,
        password="open",  # noqa: S106  no token is checked
        publish_topic=f"vixio/up/{device_id}",
        keepalive=120,
    )
    return {"ws_url": None, "mqtt": mqtt}


def pairs(results: Sequence[Result]) -> list[tuple[Result, Result]]:
    """Return what was run over the WebSocket and, next, over MQTT."""
    return [
        (one, other)
        for one, other in pairwise(results)
        if (one.carrier, other.carrier) == ("websocket", "mqtt")
        and (one.mix, one.devices) == (other.mix, other.devices)
    ]


def said(results: Sequence[Result]) -> str:
    """Compare the steps of both carriers, and say what an idle device costs; a line for each."""
    lines: list[str] = []
    for before, mqtt in pairs(results):
        ratios = {
            "CPU of a device": (mqtt.cpu_per_device, before.cpu_per_device),
            "memory of a device": (mqtt.memory_per_device, before.memory_per_device),
            "share of a turn p50": (mqtt.share.p50, before.share.p50),
            "p95": (mqtt.share.p95, before.share.p95),
        }
        found = [f"{name} x{one / other:.2f}" for name, (one, other) in ratios.items() if other > 0]
        lines.append(
            f"{mqtt.mix}, {mqtt.devices} devices, MQTT against WebSocket: {', '.join(found)}"
        )
    return "\n".join(lines + [_idle(each) for each in results if each.mix == "idle"])


def judge(results: Sequence[Result]) -> list[Verdict]:
    """Hold the results over MQTT against the marks."""
    talking = [
        (mqtt.cpu_per_device / before.cpu_per_device, mqtt.devices)
        for before, mqtt in pairs(results)
        if mqtt.mix in {"talk", "converse"} and before.cpu_per_device > 0
    ]
    # The machine's speed may change within a pair: the middle one of several decides.
    ratio, devices = sorted(talking)[len(talking) // 2] if talking else (0.0, 0)
    idle = [
        each
        for each in results
        if (each.carrier, each.mix) == ("mqtt", "idle") and each.connected >= IDLE_DEVICES
    ]
    return [
        Verdict(
            "CPU of a talking device over MQTT and UDP, to one over the WebSocket",
            f"≤ x{TALKING}",
            f"x{ratio:.2f} ({devices} devices)" if talking else "not measured",
            ratio <= TALKING if talking else None,
        ),
        Verdict(
            f"an idle device over MQTT, {IDLE_DEVICES} of them",
            f"≤ {IDLE_KB:.0f} KB, ≤ {IDLE_CPU} of a core",
            _idle(idle[-1]) if idle else "not measured",
            any(
                0 < each.memory_per_device <= IDLE_KB
                and each.cpu_per_device <= IDLE_CPU * each.dearer
                for each in idle
            )
            if idle
            else None,
        ),
    ]


def _idle(result: Result) -> str:
    return (
        f"idle, {result.connected} devices, {result.carrier}: {result.memory_per_device:.1f} KB "
        f"and {result.cpu_per_device:.6f} of a core each"
    )
