"""Options of the source type ``broker``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from vixio.core.text_forms import of_form
from vixio.tools.broker.login import BrokerLogin
from vixio.tools.source_settings import Retries, Seconds, SourceSettings

_prefix = of_form(
    r"[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*",
    "words of letters and digits, joined by dots and without wildcards, such as vixio.tools",
)
Prefix = Annotated[str, Field(max_length=100), AfterValidator(_prefix)]


class BrokerSettings(BrokerLogin, SourceSettings):
    """A broker, how to log in to it, and the services and tools on it."""

    services: tuple[dict[str, Any], ...] = ()
    """The upper level of the description; a mistake costs the service's tools only."""
    tools: tuple[dict[str, Any], ...] = ()
    """The lower level; a mistake costs that tool only."""
    folder: str = ""
    """JSON and YAML files with services and tools; relative to the working directory."""
    announcements: bool = True
    """Use the tools of services that announce themselves."""
    prefix: Prefix = "vixio.tools"
    """The first part of the queues for announcements."""
    timeout: Seconds = 30.0
    """For one call, unless the tool has its own."""
    idle_timeout: Seconds = 15.0
    """Without a sign of life from a service that gives them."""
    retries: Retries = 1
    """Of idempotent tools."""
    enabled: bool = True
