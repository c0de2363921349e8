"""``vixio service``: the server starts with the machine, by systemd."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from vixio.cli.config import choose_config, config_option
from vixio.core.errors import ConfigError

UNIT: Final = "vixio.service"

BOOTED: Final = Path("/run/systemd/system")
"""Is there where systemd runs, see sd_booted(3)."""

_TEXT: Final = """\
# Written by `vixio service`, which removes it as well: `vixio service --remove`.

[Unit]
Description=Vixio voice-assistant server

[Service]
Type=exec
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
WorkingDirectory={folder}
Environment=PYTHONUNBUFFERED=1
Restart=on-failure
RestartSec=2
# A mistake in the settings: a restart does not mend it.
RestartPreventExitStatus=2
# The main process alone is told to end: the others speak until the last sentence is over.
KillMode=mixed
TimeoutStopSec=30

[Install]
WantedBy={target}
"""


@click.command()
@click.option("--remove", is_flag=True, help="Stop it, and have it no longer start by itself.")
@click.option("--print", "show", is_flag=True, help="Show the unit; change nothing.")
@config_option
def service(remove: bool, show: bool, config: Path | None) -> None:
    """Have the server start with this machine, now and after every start, by systemd.

    It is a service of yours, or of the machine if you are root.
    """
    from vixio.cli.banner import vixio_command

    path, _ = choose_config(config)
    place = _Place.here()
    if show:
        click.echo(place.text(path), nl=False)
        return
    if not BOOTED.is_dir():
        raise ConfigError(
            "this machine does not run systemd: have what starts its programs run "
            f"`{vixio_command('serve', config=path)}`"
        )
    if remove:
        place.systemctl("disable", "--now", UNIT)
        place.unit.unlink(missing_ok=True)
        place.systemctl("daemon-reload")
        click.echo(f"removed {place.unit}")
        return
    if path is not None:
        from vixio.settings import load_settings

        load_settings(path)  # a mistake is said here, and not in a journal
    place.unit.parent.mkdir(parents=True, exist_ok=True)
    place.unit.write_text(place.text(path), encoding="utf-8")
    click.echo(f"wrote {place.unit}")
    place.systemctl("daemon-reload")
    place.systemctl("enable", UNIT)
    place.systemctl("restart", UNIT)
    if place.of_user:  # else it ends with its user's last login
        _run("loginctl", "enable-linger")
    option = " --user" if place.of_user else ""
    click.echo("it runs, and starts with this machine")
    click.echo(f"  its log:      journalctl{option} -u {UNIT} -f")
    click.echo(f"  new settings: systemctl{option} reload {UNIT}")
    click.echo(f"  no longer:    {vixio_command('service', '--remove')}")


@dataclass(frozen=True, slots=True)
class _Place:
    """Whose service it is. ``unit``: the file of the unit."""

    of_user: bool
    unit: Path

    @classmethod
    def here(cls) -> _Place:
        if os.geteuid() == 0:
            return cls(False, Path("/etc/systemd/system") / UNIT)
        home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        return cls(True, Path(home) / "systemd" / "user" / UNIT)

    def text(self, path: Path | None) -> str:
        """Return the unit that serves the settings at ``path``."""
        program = [sys.executable, "-m", "vixio", "serve"]
        options = [] if path is None else ["--config", str(path.absolute())]
        return _TEXT.format(
            command=" ".join(map(_quoted, [*program, *options])),
            folder=str(Path.cwd()).replace("%", "%%"),
            target="default.target" if self.of_user else "multi-user.target",
        )

    def systemctl(self, *arguments: str) -> None:
        _run("systemctl", *(["--user"] if self.of_user else []), *arguments)


def _quoted(word: str) -> str:
    """Return a word of a command line as systemd reads it, see systemd.service(5)."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _run(*command: str) -> None:
    """Run a program of systemd's. Raises ConfigError with what it says."""
    if (program := shutil.which(command[0])) is None:
        raise ConfigError(f"{command[0]} is missing, which is part of systemd")
    done = subprocess.run(  # noqa: S603 - of our own making
        [program, *command[1:]], check=False, capture_output=True, text=True
    )
    if done.returncode:
        told = " ".join(done.stderr.split()) or f"status {done.returncode}"
        raise ConfigError(f"{' '.join(command)}: {told}")
