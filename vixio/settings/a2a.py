"""The section ``a2a``: other agents that use this server, over the A2A protocol."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from vixio.providers.faults import fault
from vixio.settings.sections import MIN_SECRET_BYTES, Section

MAX_OWNERS = 1_000

LOOPBACK_OWNER = "loopback"
"""The caller whose requests come from this machine without a token."""


def _check_owner(value: str) -> str:
    # It stands in the keys of conversations, which are normalised as device ids are: lower case.
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,31}", value):
        raise ValueError(
            "expected names of callers in lower case, of at most 32 letters, digits, _, . and -; "
            f"found {value!r}"
        )
    return value


OwnerName = Annotated[str, AfterValidator(_check_owner)]
Pattern = Annotated[str, Field(min_length=1)]


class A2ADevicesSection(Section):
    """Which devices are agents, and what these can do. Patterns have the wildcards of file names.

    ``skills``: ``talk``, ``speak``, and the names of devices' tools.
    """

    allow: tuple[Pattern, ...] = ("*",)
    """By device id, as ``aa:bb:*``."""
    deny: tuple[Pattern, ...] = ()
    skills: tuple[Pattern, ...] = ("talk", "speak")
    deny_skills: tuple[Pattern, ...] = ()


class A2ASection(Section):
    """The A2A gateway. ``docs/a2a.md`` explains it. Limits hold for each process."""

    tokens: dict[OwnerName, SecretStr] = Field(default={}, max_length=MAX_OWNERS)
    """The bearer token of each caller, by its name."""
    loopback_without_token: bool = False
    """Whether programs of this machine need no token; together they are the caller ``loopback``."""
    public_url: str = ""
    """In the agent cards, without a path; empty: the address through which the card is read."""
    name: str = Field(default="Vixio", min_length=1, max_length=100)
    description: str = Field(
        default="A voice assistant with tools: ask it in plain words.",
        min_length=1,
        max_length=1_000,
    )
    client_tools: bool = True
    """Whether callers may bring tools along."""
    devices: A2ADevicesSection | None = None
    """None: no device is an agent."""
    result_timeout: float = Field(default=300, gt=0, le=3_600, allow_inf_nan=False)
    """For the result of a caller's tool."""
    context_lifetime: float = Field(default=3_600, ge=1, le=604_800, allow_inf_nan=False)
    """For a context without messages, and its tasks."""
    max_contexts: int = Field(default=1_000, ge=1, le=100_000)
    """Of each caller; a further one takes the place of the one used longest ago."""
    max_tasks: int = Field(default=5_000, ge=1, le=1_000_000)
    """Of each caller that can be read later."""
    max_running: int = Field(default=16, ge=1, le=1_000)
    """Tasks of each caller at a time."""
    max_streams: int = Field(default=32, ge=1, le=500)
    """Streams of each caller at a time."""
    requests_per_minute: int = Field(default=600, ge=0, le=1_000_000)
    """Of each caller; 0: no limit."""
    max_body_bytes: int = Field(default=2_000_000, ge=10_000, le=50_000_000)
    """Of a request; 64 tools of 20 KB are 1.3 MB."""

    @field_validator("public_url")
    @classmethod
    def _without_path(cls, value: str) -> str:
        if value and not re.fullmatch(r"https?://[^\s/@?#]+/?", value):
            raise ValueError(f"expected a URL such as https://voice.example.org, found {value!r}")
        return value.rstrip("/")

    @model_validator(mode="after")
    def _tokens_are_secret(self) -> Self:
        if not self.tokens and not self.loopback_without_token:
            raise fault("expected the token of at least one caller, by its name", "tokens")
        if self.loopback_without_token and LOOPBACK_OWNER in self.tokens:
            raise fault(
                "expected another name: with loopback_without_token it is that of callers without "
                "a token",
                "tokens",
                LOOPBACK_OWNER,
            )
        seen: dict[str, str] = {}
        for owner, secret in self.tokens.items():
            token = secret.get_secret_value()
            if len(token.encode()) < MIN_SECRET_BYTES or not re.fullmatch(r"[!-~]+", token):
                raise fault(
                    f"expected at least {MIN_SECRET_BYTES} characters, letters, digits and signs: "
                    "set it, for example, to what `openssl rand -hex 32` prints",
                    "tokens",
                    owner,
                )
            if token in seen:
                raise fault(
                    f"{seen[token]} has the same token, which names one caller only",
                    "tokens",
                    owner,
                )
            seen[token] = owner
        return self
