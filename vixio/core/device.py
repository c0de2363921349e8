"""The connected device and the profile that says how it is served.

Everything about a device hangs on its id: history, memory, limits, profile, lease, camera tokens.
The id is normalised once, where a transport admits the device; all other code compares ids as they
are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from annotated_types import Interval, Len

from vixio.core.greetings import WakeGreetings
from vixio.core.instructions import DEFAULT_INSTRUCTIONS, check_instructions
from vixio.core.language_tags import check_language
from vixio.core.moment import NO_CONTEXT, ContextSources
from vixio.core.quiet_hours import check_quiet_hours
from vixio.core.replacements import NO_REPLACEMENTS, Replacements
from vixio.core.roles import NO_ROLES, Roles
from vixio.core.whole_phrases import MAX_CHARS

_SEPARATED_MAC = re.compile(r"[0-9a-f]{2}([:-]?)[0-9a-f]{2}(?:\1[0-9a-f]{2}){4}")
_MAC_PATTERN = re.compile(r"[0-9a-f?*]{1,2}(-[0-9a-f?*]{1,2})+")
_DOTTED_MAC = re.compile(r"[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}")


RESERVED_PREFIX = "a2a/"
"""Of the keys of conversations over A2A; no device may have such an id."""

TRIAL_PREFIX = "trial/"
"""Of the keys of typed conversations that try a profile; likewise."""

ACCESS_PREFIX = "access/"
"""Of the keys of connected tool servers; likewise."""

PERSON_PREFIX = "person/"
"""Of the owners of facts about people; likewise."""


def normalise_device_id(raw: str) -> str:
    """Return the one spelling of a device id.

    Spaces around it are removed. A MAC address in any usual notation (``AA-BB-CC-DD-EE-FF``,
    ``aabbccddeeff``, ``aabb.ccdd.eeff``) becomes lower case with colons; any other id becomes lower
    case. Normalising twice changes nothing.
    """
    lower = raw.strip().lower()
    if _SEPARATED_MAC.fullmatch(lower) or _DOTTED_MAC.fullmatch(lower):
        digits = re.sub("[:.-]", "", lower)
        return ":".join(digits[start : start + 2] for start in range(0, 12, 2))
    return lower


def is_mac_address(device_id: str) -> bool:
    """Whether a normalised id has the form that the firmware's ids have. Others may be words."""
    return bool(_SEPARATED_MAC.fullmatch(device_id))


def normalise_device_pattern(pattern: str) -> str:
    """Return the spelling of a pattern that matches normalised ids (``aa:bb:*``).

    A whole id is normalised as such; the pattern of a MAC address may have hyphens instead of
    colons.
    """
    normalised = normalise_device_id(pattern)
    if _MAC_PATTERN.fullmatch(normalised):
        return normalised.replace("-", ":")
    return normalised


@dataclass(frozen=True, slots=True)
class Device:
    """A connected device: what it says of itself. A field is empty where it says nothing."""

    id: str
    """Normalised (:func:`normalise_device_id`); the MAC address on the firmware."""
    client_id: str = ""
    """The UUID that the firmware makes when it is installed."""
    address: str = ""
    """The IP address it connects from."""
    features: frozenset[str] = field(default_factory=frozenset)
    """Of its hello: ``mcp``, ``aec``, …"""
    sent_id: str = ""
    """The id in the device's own spelling, where that differs from :attr:`id`. Only for data that
    was stored before ids were normalised."""
    transport: str = ""
    """What carries its messages: ``websocket``."""
    protocol: str = ""
    """The version of its wire protocol."""
    board: str = ""
    """The board that it was built for, as it stated when it asked for the server's address."""
    firmware: str = ""
    """The version of its firmware; stated with the board."""
    http_url: str = ""
    """The server's HTTP port as this device reaches it, without a path; empty: not known."""


@dataclass(frozen=True, slots=True)
class ToolAccess:
    """A tool policy. Patterns have the wildcards of file names and match a tool's name or
    ``source/name``."""

    allow: tuple[str, ...] = ()
    """Only these; empty: every tool."""
    deny: tuple[str, ...] = ()
    """Never these; stronger than ``allow``."""
    confirm: tuple[str, ...] = ()
    """These only after the user's yes."""


ProviderConfig = Hashable | Mapping[str, Any] | list[Mapping[str, Any]] | None
"""A provider and its options: a section of the settings (``vixio.settings.provider``), or a mapping
or a list of several as they stand in the section of a device in a settings file. None: the server's
default. Equal values share one provider."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Says that a field of a profile is a setting too.

    A settings file has it in the section ``assistant``, for all devices, and in ``devices``; a
    profile of the registry has it as well. Their checks and the form of the console follow from
    the field and from this; bounds are those of ``annotated_types`` in its type. The template of
    settings and its copy in docs/configuration.md are written by scripts/settings_template.py.

    ``default``: in ``assistant``. If it is None, ``assistant`` may say null too. ``about``: for who
    writes the file. ``check``: raises ValueError, whose text is shown. ``key``: its name for a
    device, ``of_all`` in ``assistant``; empty: that of the field, and that of a device.
    """

    default: Any
    about: str
    check: Callable[[str], None] | None = None
    key: str = ""
    of_all: str = ""


Phrase = Annotated[str, Len(1, MAX_CHARS)]


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """How a device is served. The defaults are neutral: nothing known, nothing restricted.

    None: as the server's other devices.
    """

    name: str = ""
    """What the device is called, such as ``Kitchen``."""
    place: Annotated[str, Setting("", "location of the devices, such as: Berlin")] = ""
    user: Annotated[
        str, Setting("", "name of the user; for a device, the key is `user`", of_all="user_name")
    ] = ""
    person: str = ""
    """Whose it is: an id, such as the registry gives. The devices of a person share the facts that
    they are told; empty: the facts are the device's own."""
    assigned: str = ""
    """The name of its profile in the registry; empty: it has none. Tool sources may be for the
    devices of one profile."""
    role: str = ""
    """The name of the profile whose role it has taken by voice: that is over its own. Empty:
    none."""
    language: Annotated[
        str,
        Setting(
            "en", "the language it hears and speaks (BCP 47): en, zh, de-AT, …", check_language
        ),
    ] = "en"
    instructions: Annotated[
        str,
        Setting(
            DEFAULT_INSTRUCTIONS,
            "the system prompt of a language model; {names} are filled in for each turn "
            "(docs/models.md)",
            check_instructions,
        ),
    ] = ""
    wake_greeting: Annotated[
        str | WakeGreetings,
        Setting(
            "",
            "spoken when the device has heard its wake word, such as: Yes? or one of several: "
            '["Yes?", "I\'m here."], or by wake word, "*" for the others: '
            '{"hi esp": "Yes?", "你好小智": ["我在", "在呢"]}; empty: nothing',
            key="wake_reply",
        ),
    ] = ""
    idle_timeout: Annotated[
        Annotated[float, Interval(ge=0, le=86_400)] | None,
        Setting(
            120,
            "a device that listens and hears nobody for so many seconds is told goodbye and "
            "closed; 0: never (docs/configuration.md)",
        ),
    ] = None
    exit_phrases: Annotated[
        tuple[Phrase, ...] | None,
        Setting(
            None,
            'with which the user ends the conversation, such as ["goodbye"]; null: the usual ones '
            "of the language; []: none",
        ),
    ] = None
    daily_turns: Annotated[
        Annotated[int, Interval(ge=0, le=1_000_000)] | None,
        Setting(0, "turns of a device that are answered on one day; 0: any number"),
    ] = None
    pronunciations: Annotated[
        Replacements | None,
        Setting(
            NO_REPLACEMENTS,
            "how the voice says words that it says wrongly; screen and conversation keep them: "
            "{Vixio: Vicksio}",
        ),
    ] = None
    corrections: Annotated[
        Replacements | None,
        Setting(
            NO_REPLACEMENTS,
            "what was said where the recogniser writes something else: {weak see oh: Vixio}; "
            "both: at most 100 words or phrases of 80 characters",
        ),
    ] = None
    keep_sound_days: Annotated[
        Annotated[int, Interval(ge=0, le=30)] | None,
        Setting(
            0,
            "days for which what the user says is kept as sound, beside its words, to find out "
            "what was misheard; 0: it is not (docs/data.md)",
        ),
    ] = None
    quiet_hours: Annotated[
        str,
        Setting(
            "",
            "such as 22:00-07:00: an idle device is not made to speak then, and plays no sound, "
            "except for timers, alarms, reminders and what is urgent; empty: none "
            "(docs/devices.md)",
            check_quiet_hours,
        ),
    ] = ""
    context: Annotated[
        ContextSources | None,
        Setting(
            NO_CONTEXT,
            "what a model is told of the moment, by name: answers of addresses or resources of MCP "
            "servers, which are asked when a conversation begins: {room: {url: "
            '"http://192.168.1.5/state", result: temperature}, calendar: {mcp: family, resource: '
            '"calendar://today"}}',
        ),
    ] = None
    roles: Annotated[
        Roles | None,
        Setting(
            NO_ROLES,
            "stored profiles that a device may take as a role by voice, with what they are called: "
            '{storyteller: "the storyteller, 讲故事的人"} (docs/devices.md)',
        ),
    ] = None
    agent: ProviderConfig = None
    tts: ProviderConfig = None
    asr: ProviderConfig = None
    vad: ProviderConfig = None
    tools: ToolAccess = ToolAccess()
    """What this device may use of the tools that the server offers to all."""

    @property
    def phrases(self) -> tuple[str, ...]:
        """What its user says beyond commands: exit phrases, and what is corrected and has several
        words, so that a recogniser of known phrases can learn another way to say a command."""
        corrected = self.corrections.pairs if self.corrections is not None else ()
        own = (said for said, _ in corrected if len(said.split()) > 1)
        return (*(self.exit_phrases or ()), *own)


class ProfileResolver(Protocol):
    """Says how each device is served. Cheap: it is asked for every connection."""

    def __call__(self, device: Device, /) -> DeviceProfile:
        """Return the profile of a device."""
        ...
