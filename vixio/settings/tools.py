"""The section ``tools``: the sources of tools, the policy and the options of calls."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from vixio.settings.sections import Seconds, Section
from vixio.settings.tool_source import ToolSourceSection
from vixio.tools.a2a.settings import A2aAgentSettings
from vixio.tools.broker.settings import BrokerSettings
from vixio.tools.mcp.settings import ServerName
from vixio.tools.media.settings import MediaSettings
from vixio.tools.ready.settings import ReadySettings
from vixio.tools.rest.settings import OpenApiSettings, RestToolSettings

Pattern = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1)]


class ToolOptionsSettings(Section):
    """Options of the tools that a pattern matches; None: the tool's own."""

    timeout: Seconds | None = None
    retries: int | None = Field(default=None, ge=0, le=10)
    backoff: float | None = Field(default=None, ge=0, le=60, allow_inf_nan=False)
    idempotent: bool | None = None
    read_only: bool | None = None
    confirm: bool | None = None
    concurrency: int | None = Field(default=None, ge=0, le=10_000)
    max_result_chars: int | None = Field(default=None, ge=100, le=1_000_000)

    def given(self) -> dict[str, Any]:
        """Return the options that are set, as fields of ``ToolOptions``."""
        return self.model_dump(exclude_none=True)


class ToolsSettings(Section):
    """Patterns have the wildcards of file names and match ``name`` or ``source/name``."""

    builtin: bool | tuple[Name, ...] = True
    """True: all; False: none; or the names of some."""
    modules: tuple[Name, ...] = ()
    """``package.module`` or ``package.module:function``."""
    folder: str = ""
    """Python files, each a module with tools; relative to the working directory."""
    entry_points: bool = True
    """Use the tools of other installed packages."""
    ready: Annotated[ReadySettings | None, BeforeValidator(lambda given: given or None)] = None
    """Tools that come with Vixio: names, or one with its options as a key."""
    rest: tuple[RestToolSettings, ...] = ()
    """HTTP services, described here."""
    openapi: dict[ServerName, OpenApiSettings] = Field(default_factory=dict)
    """HTTP services described by OpenAPI documents, by name of the source."""
    broker: BrokerSettings | None = None
    """Tool services on a message broker."""
    media: MediaSettings | None = None
    """Music, stories, podcasts and radio."""
    a2a: tuple[A2aAgentSettings, ...] = ()
    """Remote A2A agents, whose skills become tools."""
    sources: tuple[ToolSourceSection, ...] = ()
    """Sources of any type, also of types that other packages bring."""
    allow: tuple[Pattern, ...] = ()
    """Empty: everything."""
    deny: tuple[Pattern, ...] = ()
    confirm: tuple[Pattern, ...] = ()
    """Run only with the user's consent."""
    options: dict[str, ToolOptionsSettings] = Field(default_factory=dict)
    """By pattern; of several that match, the later one applies."""
    concurrency: dict[str, Annotated[int, Field(ge=1, le=10_000)]] = Field(default_factory=dict)
    """Calls per source at the same time."""
    log_content: bool = False
    """Log arguments and results (level DEBUG); they contain users' words."""
