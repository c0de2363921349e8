"""A clean environment: a fresh copy of what is committed, with a home folder of its own.

Nothing of the environment that runs the walk reaches it: no path, no cache, no setting.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from firmware_test_client import DeviceConfig, SimulatedDevice, Voice
from tests.e2e.person import Person, at_terminal
from tests.support.servers import free_ports

CHECKOUT: Final = Path(__file__).parents[2]

PATIENCE: Final = 900.0
"""Seconds for a command that installs: it fetches some hundred megabytes."""

READY: Final = "vixio.composition.run  all providers are ready"
"""The line of the log. The banner has its words, too, and says that they come."""

_SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_PLACES = ("PIP_", "NPM_CONFIG_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_")
"""How this machine reaches the package registries, which is no part of Vixio."""


@dataclass
class Told:
    """What a command wrote, both streams as they come on a terminal, and how long it took."""

    text: str
    status: int
    seconds: float


@dataclass(frozen=True)
class Way:
    """What one way to an assistant costs."""

    name: str
    seconds: float
    megabytes: float


@dataclass
class House:
    """``root``: the copy of the checkout, where the user's shell stands."""

    root: Path
    home: Path
    ways: list[Way] = field(default_factory=list)
    setup: Told = field(default_factory=lambda: Told("", 0, 0.0))

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the variables of a user who has just logged in."""
        kept = {name: os.environ[name] for name in os.environ if name.upper().startswith(_PLACES)}
        return {
            **kept,
            "PATH": _SYSTEM,
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            **(more or {}),
        }

    async def run(
        self, command: str, *, status: int | None = 0, more: Mapping[str, str] | None = None
    ) -> Told:
        """Type ``command`` into a shell and wait for its end. ``status``: None: any."""
        began = time.monotonic()
        process = await asyncio.create_subprocess_shell(
            command,
            cwd=self.root,
            env=self.environment(more),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                out, _ = await process.communicate()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            raise
        told = Told(out.decode(), await process.wait(), time.monotonic() - began)
        assert status is None or told.status == status, f"{command}: {told.status}\n{told.text}"
        assert "Traceback" not in told.text, told.text
        return told

    def at_terminal(
        self, command: str, more: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Person]:
        """Type ``command`` at a terminal."""
        return at_terminal(
            Path("/bin/sh"),
            "-c",
            f"exec {command}",
            directory=self.root,
            environment=self.environment(more),
        )

    def write(self, name: str, settings: Mapping[str, Any]) -> Address:
        """Write a settings file for a server on free ports of this machine alone."""
        port, http_port = free_ports(2)
        server = {"host": "127.0.0.1", "port": port, "http_port": http_port}
        whole = {"server": {**server, **settings.get("server", {})}}
        whole |= {key: value for key, value in settings.items() if key != "server"}
        text = yaml.safe_dump(whole, allow_unicode=True, sort_keys=False)
        (self.root / name).write_text(text, encoding="utf-8")
        return Address(port, http_port)

    @asynccontextmanager
    async def serving(
        self, name: str, settings: Mapping[str, Any]
    ) -> AsyncIterator[tuple[Person, Address]]:
        """Serve these settings until the body ends, then press Ctrl-C; status 0, no traceback."""
        address = self.write(name, settings)
        async with self.at_terminal(f".venv/bin/vixio serve --config {name}") as person:
            await person.expect("listens for devices")
            yield person, address
            await person.interrupt()
            assert await person.left() == 0, person.seen
        assert "Traceback" not in person.seen, person.seen

    def before(self) -> Way:
        """Return time and size now, for :meth:`took`."""
        return Way("", time.monotonic(), self.megabytes())

    def took(self, name: str, before: Way) -> None:
        """Note what this way has cost since ``before``."""
        now = self.before()
        seconds, megabytes = now.seconds - before.seconds, now.megabytes - before.megabytes
        self.ways.append(Way(name, seconds, megabytes))

    def megabytes(self) -> float:
        """Return the size on the disk of the environment and of what was fetched beside it."""
        places = (self.root / ".venv", self.home / ".local", self.home / ".cache" / "vixio")
        there = [str(place) for place in places if place.exists()]
        told = subprocess.run(["du", "-smc", *there], check=True, capture_output=True, text=True)
        return float(told.stdout.splitlines()[-1].split()[0])


@dataclass(frozen=True)
class Address:
    """Where a server listens on this machine."""

    port: int
    http_port: int

    @property
    def http(self) -> str:
        """Its pages."""
        return f"http://127.0.0.1:{self.http_port}"

    @property
    def ota(self) -> str:
        """What is entered on the device."""
        return f"{self.http}/xiaozhi/ota/"

    def device(self, **options: Any) -> SimulatedDevice:  # noqa: ANN401 - fields of DeviceConfig
        """Return a device that knows this address alone."""
        return SimulatedDevice(DeviceConfig(ota_url=self.ota, **options))


CHINESE_VOICE: Final = Voice(name="cmn")


def make_house(folder: Path) -> House:
    """Copy what is committed, as ``git clone`` does for a user; one that is there is renewed."""
    root, home = folder / "vixio", folder / "home"
    if root.exists():
        subprocess.run(["git", "-C", str(root), "fetch", "--quiet"], check=True)
        subprocess.run(["git", "-C", str(root), "reset", "--quiet", "--hard", "@{u}"], check=True)
        subprocess.run(["git", "-C", str(root), "clean", "--quiet", "-df"], check=True)
        return House(root, home)
    home.mkdir(parents=True)
    subprocess.run(["git", "clone", "--quiet", str(CHECKOUT), str(root)], check=True)
    return House(root, home)


def pull_down(house: House) -> None:
    """Remove it: it has more than a gigabyte."""
    shutil.rmtree(house.root.parent)
