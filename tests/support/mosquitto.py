"""Debian's Mosquitto, with the users and rules that docs/devices.md gives out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.support.brokers import BrokerServer, missing

SERVER, DEVICE = ("vixio-server", "of-the-server"), ("vixio", "of-the-devices")
"""Users and passwords."""


def documented(name: str) -> str:
    """Return the file ``name`` as docs/devices.md shows it: its block begins with its name."""
    text = Path("docs/devices.md").read_text("utf-8")
    found = re.search(rf"```\w*\n[#%]+ {re.escape(name)}\n(.*?)```", text, re.DOTALL)
    assert found is not None, f"docs/devices.md has no {name}"
    return found[1]


class Mosquitto(BrokerServer):
    """One broker. ``rules``: those of users instead of the documented ones. ``certificate``: a PEM
    file, its key beside it: then it speaks TLS."""

    scheme = "mqtt"

    def __init__(
        self, directory: Path, rules: str | None = None, certificate: Path | None = None
    ) -> None:
        super().__init__(directory)
        program = shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            missing("mosquitto is not installed")
        self._program = program
        passwords = directory / "passwords"
        passwords.touch(mode=0o600)
        for user, password in (SERVER, DEVICE):
            words = ["mosquitto_passwd", "-b", str(passwords), user, password]
            subprocess.run(words, check=True, capture_output=True)
        (directory / "acl").write_text(documented("vixio.acl") if rules is None else rules)
        (directory / "acl").chmod(0o600)
        text = documented("vixio.conf").replace("/etc/mosquitto/vixio.acl", f"{directory}/acl")
        text = text.replace("/etc/mosquitto/vixio.passwords", str(passwords))
        text = text.replace("listener 1884 127.0.0.1", f"listener {self.port} 127.0.0.1")
        assert str(self.port) in text
        if certificate is not None:
            self.scheme = "mqtts"
            text += f"certfile {certificate}\nkeyfile {certificate.with_suffix('.key')}\n"
        self._config = directory / "mosquitto.conf"
        self._config.write_text(f"{text}\nuser root\n" if os.geteuid() == 0 else text)

    def command(self) -> tuple[list[str], dict[str, str]]:
        return [self._program, "-c", str(self._config)], dict(os.environ)

    def section(self, **more: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the section ``mqtt.broker`` for it."""
        return {
            "url": self.url,
            "username": SERVER[0],
            "password": SERVER[1],
            "device_username": DEVICE[0],
            "device_password": DEVICE[1],
            **more,
        }
