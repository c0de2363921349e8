"""The smallest program around Vixio, unchanged: a tool of its own, heard and answered."""

from __future__ import annotations

import ast
import re
import signal
import sys
from pathlib import Path

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.processes import running
from tests.support import patient

EXAMPLE = Path(__file__).parents[2] / "examples" / "ten_lines.py"
ANSWER = r"The lucky number is \d{1,2}\."
CONFIG = "server: {host: 127.0.0.1, port: 0, http_port: 0}\nmemory: {store: none}\n" + patient.YAML


async def test_a_device_is_answered_by_the_programs_own_tool(tmp_path: Path) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    environment = {"VIXIO_CONFIG": str(config)}
    async with running((sys.executable, EXAMPLE), tmp_path, environment) as server:
        line = await server.line("OTA URL")
        (ota,) = re.findall(r"http://\S+", line)
        async with SimulatedDevice(DeviceConfig(ota_url=ota)) as device:
            spoken = await device.ask("what is the lucky number")
            assert re.fullmatch(ANSWER, spoken.text), "".join((spoken.text, *server.err))
            typed = await device.type_text("what is the lucky number")
            assert re.fullmatch(ANSWER, typed.text), typed.text
            assert_nothing_wrong(device)
        await server.stop(signal.SIGINT)
        assert server.process.returncode == 0
    log = "".join(server.err)
    assert "all providers are ready" in log, "it logs without a word about logging"
    assert "Traceback" not in log


def test_it_has_ten_lines_of_code() -> None:
    source = EXAMPLE.read_text(encoding="utf-8")
    body = ast.parse(source).body[1:]  # without the docstring
    text = "\n".join(source.splitlines()[body[0].lineno - 1 :])
    assert len([line for line in text.splitlines() if line.strip()]) <= 10
