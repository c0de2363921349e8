"""Every metric: its name, type, labels and meaning. docs/operations.md has the same table.

No label may hold a device's id, or anything else that a device or a caller can invent: what comes
from settings and code is bounded, and ``labels.Bounded`` holds it to that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Type = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Spec:
    """One metric. ``buckets``: upper bounds of a histogram, in seconds."""

    name: str
    type: Type
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


STAGE_BUCKETS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0,
)  # fmt: skip
"""Below 50 ms is the server's own share, and what answers offline. Between 0.2 and 3 s people
notice each step, and cloud services answer: the bounds are closest there. Above is a failure that
drags on to its time limit."""

TOOL_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""A local function takes milliseconds, a device or a service tenths of a second, an agent or a
question to a person up to a minute."""

BUILD: Final = Spec(
    "vixio_build_info", "gauge", "Always 1, with the versions.", ("version", "python")
)
READY: Final = Spec("vixio_ready", "gauge", "1 if the check of /readyz passes, 0.", ("check",))
DEVICES: Final = Spec("vixio_devices_connected", "gauge", "Devices that are connected.")
SESSIONS: Final = Spec("vixio_sessions", "gauge", "Sessions that run.")
HANDSHAKES: Final = Spec("vixio_handshakes", "gauge", "Connections that have not said hello.")
LOOP_LAG: Final = Spec(
    "vixio_event_loop_lag_seconds",
    "gauge",
    "How late the event loop runs its timers, the median of 10 s.",
)
OVERLOADED: Final = Spec("vixio_overloaded", "gauge", "1 while new devices are too much, 0.")
CAPACITY: Final = Spec(
    "vixio_capacity_devices",
    "gauge",
    "Devices that can converse at the same time, estimated from what they cost.",
)
NODES: Final = Spec("vixio_nodes", "gauge", "Nodes of the cluster, this one among them.")
MESSAGES: Final = Spec(
    "vixio_cluster_messages_refused_total",
    "counter",
    "Messages on the bus of the cluster that were refused.",
    ("reason",),
)
STALLS: Final = Spec(
    "vixio_cluster_stalls_total", "counter", "Stalls of the process of 1.5 s or longer."
)
CLAIMS: Final = Spec(
    "vixio_cluster_claims_lost_total",
    "counter",
    "Claims on devices that a later connection ended, and writes that it kept out.",
    ("reason",),
)
CONNECTIONS: Final = Spec("vixio_sessions_opened_total", "counter", "Sessions that began.")
TURNS: Final = Spec("vixio_turns_total", "counter", "Turns that ended.", ("outcome",))
STAGES: Final = Spec(
    "vixio_turn_stage_seconds",
    "histogram",
    "From the decision that the user has finished to the stage, by turn.",
    ("stage",),
    STAGE_BUCKETS,
)
TURN_FAILURES: Final = Spec(
    "vixio_turn_failures_total", "counter", "Turns that failed, by where.", ("stage",)
)
PROVIDER_ERRORS: Final = Spec(
    "vixio_provider_errors_total",
    "counter",
    "Failed starts and uses of providers.",
    ("kind", "provider", "reason"),
)
FALLBACKS: Final = Spec(
    "vixio_fallback_failures_total",
    "counter",
    "What a provider of a fallback list failed at, so that the next one was asked.",
    ("kind", "provider"),
)
SERVERS: Final = Spec(
    "vixio_provider_server_up",
    "gauge",
    "1 while one of several servers of a provider serves, 0 while it is passed over.",
    ("kind", "provider", "server"),
)
SERVERS_PENDING: Final = Spec(
    "vixio_provider_server_pending",
    "gauge",
    "What one of several servers of a provider has to do for this process.",
    ("kind", "provider", "server"),
)
TOOL_CALLS: Final = Spec(
    "vixio_tool_calls_total", "counter", "Calls of tools in turns.", ("source", "outcome")
)
TOOL_SECONDS: Final = Spec(
    "vixio_tool_call_seconds", "histogram", "Duration of tool calls.", ("source",), TOOL_BUCKETS
)
MODEL_CALLS: Final = Spec(
    "vixio_model_calls_total", "counter", "Answers of language models, one a round.", ("model",)
)
TOKENS_IN: Final = Spec(
    "vixio_model_input_tokens_total", "counter", "Tokens that models read.", ("model",)
)
TOKENS_CACHED: Final = Spec(
    "vixio_model_cached_tokens_total",
    "counter",
    "Of the tokens read, those that the service had read before.",
    ("model",),
)
TOKENS_OUT: Final = Spec(
    "vixio_model_output_tokens_total", "counter", "Tokens that models wrote.", ("model",)
)
PASSED_OVER: Final = Spec(
    "vixio_model_passed_over_total",
    "counter",
    "Answers that another model of the list gave, since this one failed.",
    ("model",),
)
DROPPED: Final = Spec(
    "vixio_dropped_total", "counter", "Frames and pieces that were dropped or late.", ("what",)
)
REFUSALS: Final = Spec(
    "vixio_refusals_total",
    "counter",
    "Connections and requests that were refused.",
    ("area", "reason"),
)
OTA: Final = Spec("vixio_ota_requests_total", "counter", "OTA requests of devices.")
EVENTS: Final = Spec(
    "vixio_events_total",
    "counter",
    "All other counts, by the name that they have on /healthz.",
    ("event",),
)

ALL: Final = (
    BUILD, READY, DEVICES, SESSIONS, HANDSHAKES, LOOP_LAG, OVERLOADED, CAPACITY, NODES, MESSAGES,
    STALLS,
    CLAIMS, CONNECTIONS, TURNS, STAGES, TURN_FAILURES, PROVIDER_ERRORS, FALLBACKS, SERVERS,
    SERVERS_PENDING, TOOL_CALLS, TOOL_SECONDS, MODEL_CALLS, TOKENS_IN, TOKENS_CACHED, TOKENS_OUT,
    PASSED_OVER, DROPPED, REFUSALS, OTA, EVENTS,
)  # fmt: skip
