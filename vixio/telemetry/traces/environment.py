"""Whether traces are wanted, by the standard variables of OpenTelemetry.

https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and
https://opentelemetry.io/docs/specs/otel/protocol/exporter/. The library reads the others itself:
headers, time-out, certificate, resource attributes, sampler.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SPOKEN: Final = "http/protobuf"


def wanted(environ: Mapping[str, str]) -> bool:
    """Whether there is an endpoint, and traces are not turned off."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none":
        return False
    return any(environ.get(name, "").strip() for name in ENDPOINTS)


def mistake(environ: Mapping[str, str]) -> str:
    """Return why the endpoint cannot be used; empty: it can."""
    protocol = next((value for name in PROTOCOLS if (value := environ.get(name, ""))), SPOKEN)
    if protocol.strip() != SPOKEN:
        return f"the protocol is {protocol}, only {SPOKEN} is supported (port 4318 of a collector)"
    return ""
