"""A server of the tests with an own registry, and the commands beside it: real processes."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from firmware_test_client import DeviceConfig
from tests.e2e.processes import (
    LIGHT,
    LIGHT_YAML,
    Running,
    light_environment,
    running,
)
from tests.support import patient
from tests.support.joined import cluster_yaml
from tests.support.registry_databases import new_postgres, skip_postgres
from tests.support.servers import free_ports
from tests.support.waiting import until

VIXIO = Path(sys.executable).with_name("vixio")


class House:
    """A server's folder: its settings and its registry."""

    program: Sequence[str | Path] = (VIXIO,)
    """The command that serves."""
    more = patient.YAML
    """Lines of the settings: the providers, and limits of time."""
    fails = False
    """Whether something of it does not work on purpose, which is logged as an error."""

    def __init__(self, folder: Path, database: str, access: str = "activation") -> None:
        self.folder = folder
        self.database = database
        self.access = access
        self.port, self.http_port = free_ports(2)
        self.ota_url = f"http://127.0.0.1:{self.http_port}/xiaozhi/ota/"
        self.write(access)

    def write(self, access: str, workers: int = 1) -> None:
        """Write the settings."""
        server = f"host: 127.0.0.1, port: {self.port}, http_port: {self.http_port}"
        (self.folder / "vixio.yaml").write_text(
            f"server: {{{server}, access: {access}, workers: {workers}}}\n"
            f"data: {{folder: {self.folder / 'data'}, database: '{self.database}'}}\n"
            f"memory: {{store: none}}\n{self.more}{cluster_yaml()}"
        )

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Running]:
        """Run the server until the block ends."""
        command = (*self.program, "serve", "--config", self.folder / "vixio.yaml")
        async with running(command, self.folder, self.environment()) as server:
            await server.line("silero")
            try:
                yield server
            except BaseException as error:
                error.add_note("the server said:\n" + "".join(server.out + server.err))
                raise
            if server.process.returncode is None:
                await server.stop(signal.SIGTERM)
            said = "".join(server.out + server.err)
            assert "Traceback" not in said
            assert self.fails or "ERROR" not in said, said

    def environment(self) -> Mapping[str, str]:
        """Return variables of all its programs."""
        return {}

    async def command(self, *arguments: str, status: int = 0) -> str:
        """Run a command of the registry; return what it says."""
        async with running((VIXIO, *arguments), self.folder, self.environment()) as command:
            assert command.process.stdout is not None
            async with asyncio.timeout(60):
                said = (await command.process.stdout.read()).decode()
                assert await command.process.wait() == status, said + "".join(command.err)
            await until(lambda: status == 0 or command.err, what="the reason")
            return said + "".join(command.err)

    async def devices(self) -> list[dict[str, Any]]:
        """Return the devices of the registry."""
        found: list[dict[str, Any]] = json.loads(await self.command("devices", "--json"))
        return found

    def device(self, **options: Any) -> DeviceConfig:  # noqa: ANN401 - of the dataclass
        """Return a device that asks this server, and waits less than a real one."""
        options = {"mode": "manual", "board": "esp-box-3", **options}
        return DeviceConfig(
            ota_url=self.ota_url,
            activation_rounds=None,
            activation_retry=0.1,
            activation_error_retry=0.1,
            ota_tries=10,
            ota_retry=0.1,
            pause_scale=0.01,
            **options,
        )


class LightHouse(House):
    """One that hears nothing, speaks silence, and takes little of the processor."""

    program = LIGHT
    more = (
        f"{LIGHT_YAML.replace('filler_after: 0', 'filler_after: 0, wake_reply: Hello.')}"
        f"timeouts: {json.dumps(patient.sections()['timeouts'])}\n"
    )

    def environment(self) -> Mapping[str, str]:
        """Return where the light providers are."""
        return light_environment()

    def without_api(self) -> LightHouse:
        """Have no HTTP API in the settings that are written from now on; return the same house."""
        self.more = f"{LightHouse.more}api: {{enabled: false}}\n"
        self.write(self.access)
        return self


@pytest.fixture(params=["sqlite", "postgresql"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LightHouse]:
    """A server with an own registry."""
    if request.param == "sqlite":
        yield LightHouse(tmp_path, "")
    else:
        skip_postgres()
        yield LightHouse(tmp_path, new_postgres(request.getfixturevalue("postgres_url")))
