"""How each command of ``vixio`` is run under a trace: test_commands_stay_here.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

GROUP = "(alone)"
"""Stands for a group that does something without a subcommand."""


@dataclass(frozen=True)
class Step:
    """One run. ``command``: of those of :func:`all_commands`; ``argv``: its arguments."""

    command: str
    argv: Sequence[str] = ()
    stdin: str = ""
    keep: tuple[str, str] | None = None
    """A name, and the expression whose first group is its value in the arguments of later steps."""
    status: int | None = 0
    """None: it depends on what is measured."""
    few: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the step as tests/support/run_commands.py reads it."""
        words = self.command.removesuffix(GROUP).split()
        return {**asdict(self), "argv": [*words, *self.argv]}


DEVICE = "aa:bb:cc:dd:ee:01"
IMAGE = ("2.4.2", "firmware.bin")
"""Version and file of an image that the test writes."""
OFFLINE = "--ears commands --model phrasebook --voice espeak --tools none --language en"

STEPS = (
    Step("init", ["settings"]),
    Step("setup", ["--yes", "--no-wait", *OFFLINE.split(), "--config", "made.yaml"]),
    Step("service", ["--print"]),
    Step("check"),
    Step("check", ["--live"]),
    Step("ask", ["what time is it"]),
    Step("chat", stdin="hello\n"),
    Step("say", ["turn on the light", "--out", "said.wav"]),
    Step("transcribe", ["said.wav"]),
    Step("talk", stdin="hello\n"),
    Step("voices"),
    Step("memory"),
    Step("conversations (alone)"),
    Step("conversations list", keep=("session", r"(text-\w+)")),
    Step("conversations show", ["{session}"]),
    Step("conversations search", ["tea"]),
    Step("people add", ["Ann"]),
    Step("people rename", ["Ann", "Anna"]),
    Step("people show", ["Anna"]),
    Step("people (alone)"),
    Step("people list"),
    Step("papers add", [IMAGE[1]], status=2),  # no document
    Step("papers search", ["tea"]),
    Step("papers remove", ["tea.txt"], status=2),  # there is none
    Step("papers erase", ["--all"]),
    Step("papers (alone)"),
    Step("papers list"),
    Step("profiles set", ["kitchen", "language=en"]),
    Step("profiles show", ["kitchen"]),
    Step("access-points create", ["--profile", "kitchen", "--qr"]),
    Step("access-points list"),
    Step("access-points (alone)"),
    Step("access-points revoke", ["--profile", "kitchen"]),
    Step("profiles (alone)"),
    Step("profiles list"),
    Step("tools add", ["-"], stdin='{"a": {"command": "no-such-program"}}', status=2),
    Step("tools (alone)"),
    Step("tools list"),
    Step("tools remove", ["a"], status=2),  # nothing was added
    Step("devices add", [DEVICE]),
    Step("devices claim", ["123456"], status=2),  # no device waits for that
    Step("devices rename", [DEVICE, "lamp"]),
    Step("devices assign", [DEVICE, "kitchen"]),
    Step("devices give", [DEVICE, "Anna"]),
    Step("devices switch", [DEVICE, "mqtt"]),
    Step("devices upgrade", [DEVICE], status=2),  # no server runs
    Step("devices picture", [DEVICE, IMAGE[1]], status=2),
    Step("devices assets", [DEVICE, "https://assets.example/a.bin"], status=2),
    Step("devices show", [DEVICE]),
    Step("devices block", [DEVICE]),
    Step("devices unblock", [DEVICE]),
    Step("devices (alone)"),
    Step("devices list"),
    Step("conversations export", [DEVICE]),
    Step("conversations erase", [DEVICE, "--yes"]),
    Step("devices audit"),
    Step("reminders add", [DEVICE, "tea", "--in", "10m"], keep=("reminder", r"added (\w+):")),
    Step("reminders list"),
    Step("reminders cancel", ["{reminder}"]),
    Step("reminders (alone)"),
    Step("tokens list"),
    Step("tokens (alone)"),
    Step("tokens revoke", ["--device", DEVICE]),
    Step("api-tokens create", ["--name", "a", "--scope", "admin"], keep=("token", r"token (\w+) ")),
    Step("api-tokens list"),
    Step("api-tokens (alone)"),
    Step("api-tokens revoke", ["{token}"]),
    Step("api-password"),
    Step("console"),
    Step("firmware add", [IMAGE[1]]),
    Step("firmware list"),
    Step("firmware (alone)"),
    Step("firmware show", [IMAGE[0]]),
    Step("firmware release", [IMAGE[0], "--percent", "100"]),
    Step("firmware pause", [IMAGE[0]]),
    Step("firmware resume", [IMAGE[0]]),
    Step("firmware attempts"),
    Step("firmware remove", [IMAGE[0], "--yes"]),
    Step("models (alone)"),
    Step("models list"),
    Step("models verify"),
    Step("models remove", ["sense-voice", "--yes"], status=2),  # it is not installed
    Step("export", ["data.zip"]),
    Step("profiles load", ["hall", "profile.yaml"]),
    Step("profiles save", ["hall", "hall.json"]),
    Step("profiles create", ["tales", "--template", "storyteller"]),
    Step("profiles remove", ["hall"]),
    Step("devices forget", [DEVICE, "--yes"]),
    Step("people remove", ["Anna", "--yes"]),
    Step("restore", ["data.zip"], status=2),  # the data folder is in use
    Step("bench speech", few=True, status=None),
    Step("bench papers", ["--pages", "400", "--questions", "10"]),
)

ELSEWHERE = {
    "serve": "runs until it is stopped: test_nothing_leaves.py",
    "demo": "takes half a minute of talking: test_nothing_leaves.py",
    "bench load": "takes a quarter of a minute: test_nothing_leaves.py",
    "bench conversation": "talks for a quarter of a minute: test_nothing_leaves.py",
    "bench vendors": "takes a third of a minute: test_nothing_leaves.py",
}
"""Commands with a trace of their own."""

UNTRACED = {
    "bench echo": "needs the extra aec, and opens nothing",
    "bench media": "needs the extra media, and opens a port of this machine",
    "bench sets": "needs the extra joe, and serves: test_nothing_leaves_models.py does that",
    "models get": "asks the hubs for the model that it is given; docs/models.md names them",
    "tool-service": "needs the extra of a broker, and connects to that of its option --url",
}
"""Commands whose purpose is a contact, or that the default install does not have."""


def all_commands(command: click.Command, name: str = "") -> Iterator[str]:
    """Yield the name of each command below ``command``, as a user writes it."""
    if not isinstance(command, click.Group):
        yield name
        return
    if name and command.invoke_without_command:
        yield f"{name} {GROUP}"
    context = click.Context(command)
    for each in command.list_commands(context):
        if below := command.get_command(context, each):
            yield from all_commands(below, f"{name} {each}".strip())
