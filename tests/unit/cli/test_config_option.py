"""``--config`` stands at the end of every command that reads settings, and before its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from vixio.cli.commands import main

WITHOUT_SETTINGS = {
    *("init", "demo", "tool-service"),
    *("bench conversation", "bench echo", "bench load", "bench sets", "bench speech"),
    *("bench media", "bench papers", "bench vendors"),
    *("models", "models list", "models get", "models verify"),
}
"""They read none: where models lie, for one, is told by ``--folder``."""


def walk(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        path = (*names, name)
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield path, command
        if isinstance(command, click.Group):
            yield from walk(command, *path)


COMMANDS = {" ".join(path): command for path, command in walk(main)}
READING = sorted(COMMANDS.keys() - WITHOUT_SETTINGS)


def needed(command: click.Command, folder: Path) -> list[str]:
    """Return words for all that a command requires."""
    words: list[str] = []
    for each in command.params:
        if not each.required:
            continue
        kind = each.type
        if isinstance(kind, click.Choice):
            word = str(kind.choices[0])
        elif isinstance(kind, click.Path):
            word = str(folder / "given.bin")
        else:
            word = "1"
        words += [word] if isinstance(each, click.Argument) else [each.opts[0], word]
    return words


def test_the_walk_sees_all_commands() -> None:
    assert COMMANDS.keys() >= WITHOUT_SETTINGS
    assert {"serve", "devices", "devices list", "devices show", "people list"} <= set(READING)
    assert len(READING) > 50


@pytest.mark.parametrize("path", READING)
def test_at_the_end(path: str, tmp_path: Path) -> None:
    """The parser takes it, and the command reads that file."""
    command = COMMANDS[path]
    (tmp_path / "given.bin").write_bytes(b"\xe9")
    given = str(tmp_path / "given.yaml")
    before = click.Context(click.Command("group"), obj=Path("before.yaml"))
    words = [*needed(command, tmp_path), "--config", given]
    context = command.make_context(path, words, parent=before)
    assert context.params.get("config", context.obj) == Path(given)


@pytest.mark.parametrize(
    "path",
    [
        "devices",
        "devices list",
        "devices show 1",
        "people list",
        "profiles list",
        "tokens list",
        "api-tokens list",
        "reminders list",
        "conversations list",
        "firmware list",
    ],
)
@pytest.mark.parametrize("at_the_end", [True, False])
def test_the_file_is_read(path: str, at_the_end: bool, tmp_path: Path) -> None:
    """The one behind the name wins over the one before it."""
    group, *rest = path.split()
    missing = ["--config", str(tmp_path / "missing.yaml")]
    words = [group, *missing, *rest]
    if at_the_end:
        other = ["--config", str(tmp_path / "other.yaml")] if rest else []
        words = [group, *other, *rest, *missing]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert f"{tmp_path}/missing.yaml: no such file" in done.output
