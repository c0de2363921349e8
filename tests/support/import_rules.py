"""The rules of docs/architecture.md on imports, as a table; test_imports.py holds them."""

from __future__ import annotations

from dataclasses import dataclass

SEES_ALL = (
    "__main__",
    "cli",
    "cluster",
    "composition",
    "server",
    "testing",
)
"""Of ``vixio``: the composition root and what stands around the whole server."""

ANY = "*"
"""Any package that is not ours."""

INTERFACES = tuple(
    f"vixio.providers.{kind}" for kind in ("vad", "asr", "agent", "tts", "vision", "health")
)


SHARED = (
    "vixio.audio.libopus",
    "vixio.providers.audio_stream",
    "vixio.providers.batched_vad",
    "vixio.providers.fallback.asr",
    "vixio.providers.fallback.availability",
    "vixio.providers.fallback.candidates",
    "vixio.providers.fallback.circuit_breaker",
    "vixio.providers.fallback.time_shares",
    "vixio.providers.espeak_process",
    "vixio.providers.inference",
    "vixio.providers.local_recogniser",
    "vixio.providers.local_voice",
    "vixio.providers.model_path",
    "vixio.providers.onnx_runtime",
    "vixio.providers.openai_client",
    "vixio.providers.openai_url",
    "vixio.providers.requested_speech",
    "vixio.providers.sensevoice_tags",
    "vixio.providers.sent_utterance",
    "vixio.providers.service_answer",
    "vixio.providers.service_client",
    "vixio.providers.service_errors",
    "vixio.providers.service_socket",
    "vixio.providers.spoken_reply",
    "vixio.providers.spoken_text",
    "vixio.providers.tool_words",
)
"""What several vendors' folders have in common."""

SOURCE_SETTINGS = (
    "vixio.tools.a2a.settings",
    "vixio.tools.broker.login",
    "vixio.tools.broker.settings",
    "vixio.tools.mcp.settings",
    "vixio.tools.ready.settings",
    "vixio.tools.media.settings",
    "vixio.tools.registry",
    "vixio.tools.rest.settings",
    "vixio.tools.source_settings",
)
"""Which types of tool sources there are, and the models of their options."""

PROVIDER = (
    "vixio.core",
    *INTERFACES,
    "vixio.language.model_output",
    *SHARED,
    "vixio.providers.entry",
    "vixio.providers.fallback.making",
    "vixio.providers.registry",
    "vixio.language.phrasebook",
    "vixio.language.normalisation",
)
"""What each provider's folder may import of ours, beside itself."""

PYDANTIC = ("pydantic", "pydantic_core")


@dataclass(frozen=True)
class Rule:
    """What the modules of one area may import besides the standard library and themselves."""

    area: str
    """A module or package; ``*`` stands for one name, so that each such package is its own area."""
    ours: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    alone: bool = False
    """Whether the rule is for the module alone, without its submodules."""


RULES = (
    # The public interface: names of many packages, imported when they are used.
    Rule("vixio", ("vixio",), alone=True),
    # They drive the simulated device, which itself never sees ``vixio``.
    Rule("vixio.cli.demo", ("vixio", "firmware_test_client"), (ANY,)),
    Rule("vixio.cli.talk", ("vixio", "firmware_test_client"), (ANY,)),
    *(Rule(f"vixio.{name}", ("vixio",), (ANY,)) for name in SEES_ALL),
    Rule("vixio.core.tools", ("vixio.core",), ("jsonschema", "referencing")),
    Rule("vixio.core.device", ("vixio.core",), ("annotated_types",)),
    Rule("vixio.core"),
    *(Rule(f"vixio.{name}", alone=True) for name in ("data", "language", "telemetry", "web")),
    Rule("vixio.providers", alone=True),
    Rule("vixio.providers.downloads", ("vixio.core", "vixio.providers.model_path"), (ANY,)),
    Rule("vixio.providers.registry", ("vixio.core", "vixio.providers.tts"), ("pydantic",)),
    Rule("vixio.providers.faults", (), PYDANTIC),
    Rule(
        "vixio.providers.servers",
        ("vixio.providers.faults", "vixio.providers.registry"),
        ("pydantic",),
    ),
    Rule(
        "vixio.providers.fallback.making",
        (
            "vixio.core",
            "vixio.providers.fallback",
            "vixio.providers.registry",
            "vixio.providers.servers",
        ),
        ("pydantic",),
    ),
    Rule(
        "vixio.providers.entry",
        (
            "vixio.core",
            "vixio.providers.fallback.making",
            "vixio.providers.registry",
            "vixio.providers.servers",
        ),
        ("pydantic",),
    ),
    *(Rule(interface, ("vixio.core",)) for interface in INTERFACES),
    *(Rule(shared, ("vixio.core", *SHARED, *INTERFACES), (ANY,)) for shared in SHARED),
    # Agents at a service are models to the turn loop of the agents that call models.
    *(
        Rule(f"vixio.providers.{name}", (*PROVIDER, "vixio.providers.openai_agent"), (ANY,))
        for name in ("coze", "dify")
    ),
    Rule("vixio.providers.*", PROVIDER, (ANY,)),
    Rule("vixio.language.normalisation"),
    Rule("vixio.language.phrasebook", ("vixio.core",)),
    Rule("vixio.audio", ("vixio.core",), ("numpy", "opuslib", "pywebrtc_audio", "soxr")),
    Rule("vixio.language.text", ("vixio.core",)),
    Rule("vixio.language.model_output", ("vixio.core",)),
    Rule("vixio.stations.registry", ("vixio.core",), ("pydantic",)),
    Rule(
        "vixio.stations",
        (
            "vixio.core",
            "vixio.audio",
            "vixio.language.text",
            "vixio.language.normalisation",
            *INTERFACES,
        ),
    ),
    Rule("vixio.bus", ("vixio.core",), (ANY,)),
    # A kind of tool that needs a library or much code is a package of its own.
    Rule("vixio.tools.a2a", ("vixio.core", "vixio.tools"), (ANY,)),
    Rule("vixio.tools.broker", ("vixio.core", "vixio.tools", "vixio.bus"), (ANY,)),
    Rule("vixio.tools.home_assistant", ("vixio.core", "vixio.tools"), ("yaml",)),
    Rule("vixio.tools.mcp", ("vixio.core", "vixio.tools"), (ANY,)),
    Rule("vixio.tools.ready", ("vixio.core", "vixio.tools"), (ANY,)),
    Rule(
        "vixio.tools.media",
        ("vixio.core", "vixio.tools", "vixio.providers.audio_stream"),
        (ANY,),
    ),
    Rule("vixio.tools.rest", ("vixio.core", "vixio.tools"), (ANY,)),
    # Between the two: settings validate the options of sources, and a runtime is made of settings.
    Rule("vixio.tools.from_settings", ("vixio.core", "vixio.tools", "vixio.settings"), PYDANTIC),
    Rule("vixio.tools", ("vixio.core",), PYDANTIC),
    Rule(
        "vixio.data.backup",
        (
            "vixio",
            "vixio.core",
            "vixio.data.database",
            "vixio.data.memory",
            "vixio.data.papers",
        ),
    ),
    Rule("vixio.data.conversations", ("vixio.core", "vixio.data.database")),
    Rule("vixio.data.database", ("vixio.core",), ("asyncpg",)),
    Rule(
        "vixio.data.devices",
        (
            "vixio.core",
            "vixio.data.database",
            "vixio.data.papers.index",
            "vixio.data.papers.records",
            "vixio.settings",
            "vixio.transports.admission",
        ),
    ),
    Rule(
        "vixio.data.papers",
        ("vixio.core", "vixio.data.database"),
        ("docx", "lxml", "numpy", "pypdf"),
    ),
    Rule("vixio.data.reminders", ("vixio.core", "vixio.data.database")),
    Rule(
        "vixio.data.memory",
        (
            "vixio.core",
            "vixio.data.database",
            *INTERFACES,
        ),
    ),
    Rule("vixio.transports", alone=True),
    Rule("vixio.transports.admission", ("vixio.core",)),
    # Its front and its broker keep a connection up as tools and nodes do.
    Rule(
        "vixio.transports.xiaozhi.mqtt",
        (
            "vixio.core",
            "vixio.transports.admission",
            "vixio.transports.xiaozhi",
            "vixio.bus.address",
            "vixio.bus.errors",
            "vixio.bus.tls",
            "vixio.bus.upkeep",
        ),
        ("cryptography",),
    ),
    Rule(
        "vixio.transports.*",
        ("vixio.core", "vixio.audio.codec", "vixio.audio.echo", "vixio.transports.admission"),
        (ANY,),
    ),
    Rule(
        "vixio.web.http",
        ("vixio.core", "vixio.providers.vision", "vixio.transports.admission"),
        (ANY,),
    ),
    Rule(
        "vixio.settings",
        (
            "vixio.core",
            "vixio.data.database",
            "vixio.stations",
            *INTERFACES,
            "vixio.providers.entry",
            "vixio.providers.faults",
            "vixio.providers.registry",
            "vixio.providers.servers",
            "vixio.providers.fallback",
            *SOURCE_SETTINGS,
        ),
        ("annotated_types", *PYDANTIC, "yaml"),
    ),
    # A carrier like that of devices, whose peers are sources of tools.
    Rule(
        "vixio.web.access",
        (
            "vixio.core",
            "vixio.data.devices",
            "vixio.tools.mcp",
            "vixio.transports.admission",
            "vixio.transports.xiaozhi.inbox",
            "vixio.transports.xiaozhi.websocket",
            "vixio.web.http.upgrade",
        ),
        (ANY,),
    ),
    Rule(
        "vixio.web.a2a",
        (
            "vixio.core",
            "vixio.web.http.public_url",
            "vixio.web.http.server",
            "vixio.settings.a2a",
            "vixio.transports.admission",
        ),
        (ANY,),
    ),
    Rule(
        "vixio.web.api",
        (
            "vixio.data.conversations",
            "vixio.core",
            "vixio.data.database",
            "vixio.data.devices",
            "vixio.web.access.points",
            "vixio.web.feed",
            "vixio.web.http.images",
            "vixio.web.http.upload",
            "vixio.data.memory",
            "vixio.data.papers",
            "vixio.data.reminders",
            "vixio.settings.api",
            "vixio.transports.admission",
        ),
        (ANY,),
    ),
    Rule(
        "vixio.web.console",
        ("vixio.core", "vixio.transports.admission"),
        ("markdown_it", "starlette"),
    ),
    Rule(
        "vixio.web.feed",
        ("vixio.core", "vixio.data.database", "vixio.data.devices", "vixio.data.reminders"),
    ),
    Rule("vixio.telemetry.metrics", ("vixio.core",), ("prometheus_client",)),
    Rule("vixio.telemetry.traces", ("vixio.core",), ("opentelemetry",)),
    Rule(
        "vixio.telemetry.logging", ("vixio.core.log_fields", "vixio.core.well_formed"), ("loguru",)
    ),
)
"""The first that fits holds."""
