"""The example on a Ray of its own, started as its README says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ray.tiny_recogniser import make_recogniser
from tests.support.tiny_voices import make_piper

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "ray_serve"
REQUIRED = "VIXIO_TEST_RAY"
"""Environment variable with the path of the environment that has Ray: set by `make test-ray`."""

START_S = 240.0
"""Far more than a start takes (20 s on two idle cores)."""
STOP_S = 60.0
MAX_CHARS = 60_000
"""Of a text here: one that takes seconds to speak."""
TOKEN = "3f1d8a52c0b94e7f9a6d21c458e07b9d" * 2
"""Whoever has it can run programs on the machines of a cluster."""
DASHBOARD = 8265
"""A port. The network is that of the tests alone."""

Config = dict[str, Any]


def bin_of_ray() -> Path:
    """Return the folder with the commands ``ray`` and ``serve``. Skip the test without them."""
    if not (found := os.environ.get(REQUIRED)):
        pytest.skip("`make test-ray` runs it")  # `make test` is kept short
    routes = Path("/proc/net/route").read_text(encoding="ascii").splitlines()[1:]
    # Ray listens on all interfaces, whatever it is told.
    assert not routes, "there is a network; `make test-ray` cuts it off"
    return Path(found) / "bin"


class SpeechService:
    """``folder``: with the models. The addresses are fixed: nothing else is in this network."""

    base_url = "http://127.0.0.1:8001/v1"

    def __init__(self, commands: Path, folder: Path) -> None:
        self._commands = commands
        self._folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": str(EXAMPLE),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_USAGE_STATS_REPORT_URL": "http://127.0.0.1:9/",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": TOKEN,
        }
        self.config = config(folder)

    def ray(self) -> list[str]:
        """Return the command that runs Ray until it is told to stop."""
        return [
            str(self._commands / "ray"),
            *("start", "--head", "--block", "--disable-usage-stats"),
            # Not this machine's name, which stands for an address that this network does not have.
            *("--node-ip-address=127.0.0.1", "--dashboard-host=127.0.0.1"),
            f"--dashboard-port={DASHBOARD}",
            # A count for placing replicas: there may be fewer processors.
            *("--num-cpus=4", "--num-gpus=0", "--object-store-memory=100000000"),
            f"--temp-dir={self._folder / 'ray'}",
        ]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run Ray with the application, until the block ends."""
        log = self._folder / "ray.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                self.ray(), env=self._environment, stdout=out, stderr=out, start_new_session=True
            )
        try:
            self._wait(lambda: self._dashboard() is not None, "Ray", process)
            self.deploy(self.config)
            self._wait(self.ready, "the application", process)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_S)
            finally:
                process.kill()

    def deploy(self, config: Config) -> None:
        """Give Serve a configuration by ``serve deploy``. What runs is changed in place."""
        path = self._folder / "speech.yaml"
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        address = f"http://127.0.0.1:{DASHBOARD}"
        command = [str(self._commands / "serve"), "deploy", "--address", address, str(path)]
        given: dict[str, Any] = {"env": self._environment, "timeout": START_S, "text": True}
        done = subprocess.run(command, capture_output=True, check=False, **given)
        assert done.returncode == 0, done.stderr

    def ready(self) -> bool:
        """Return whether the application runs. Raises AssertionError if it cannot be deployed."""
        application = self.application()
        failed = application.get("status") in {"DEPLOY_FAILED", "UNHEALTHY"}
        assert not failed, application.get("message")
        return application.get("status") == "RUNNING"

    def application(self) -> dict[str, Any]:
        """Return what Serve says about the application; empty before there is one."""
        found = (self._dashboard() or {}).get("applications", {}).get("speech", {})
        assert isinstance(found, dict)
        return found

    def replicas(self, deployment: str) -> list[str]:
        """Return the ids of the replicas of a deployment that run."""
        deployments = self.application().get("deployments", {})
        its = deployments.get(deployment, {}).get("replicas", [])
        return [each["replica_id"] for each in its if each["state"] == "RUNNING"]

    def logs(self) -> str:
        """Return what Serve and the application have logged."""
        paths = sorted(self._folder.glob("ray/session_latest/logs/serve/*.log"))
        return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)

    def _dashboard(self) -> dict[str, Any] | None:
        data = _get(f"http://127.0.0.1:{DASHBOARD}/api/serve/applications/")
        found = None if data is None else json.loads(data)
        return found if isinstance(found, dict) else None

    def _wait(
        self, condition: Callable[[], bool], what: str, process: subprocess.Popen[bytes]
    ) -> None:
        end = time.monotonic() + START_S
        while not condition():
            ended = process.poll() is not None
            if ended or time.monotonic() > end:
                log = self._folder.joinpath("ray.log").read_text(encoding="utf-8", errors="replace")
                pytest.fail(f"{what} did not start:\n{log[-3000:]}")
            time.sleep(0.2)


def config(folder: Path) -> Config:
    """Return the example's own configuration, with models that are made in ``folder``."""
    loaded: Config = yaml.safe_load(EXAMPLE.joinpath("speech.yaml").read_text(encoding="utf-8"))
    arguments = loaded["applications"][0]["args"]
    arguments["recogniser"] |= {
        "kind": "zipformer-ctc",
        "folder": str(make_recogniser(folder / "recogniser")),
    }
    arguments["voice"] |= {
        "model": str(make_piper(folder / "voice", "espeak")),
        "max_chars": MAX_CHARS,
    }
    loaded["http_options"]["host"] = "127.0.0.1"
    return loaded


def _get(url: str) -> bytes | None:
    """Return the body; None where nothing answers, or not with 200."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 - http, and ours
            body: bytes = response.read()
            return body
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return None
