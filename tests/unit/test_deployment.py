"""The files in deploy/ fit the image, the settings and each other."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from vixio.cluster.workers.supervisor import STOP_S
from vixio.core.timeouts import Timeouts
from vixio.settings import Settings, load_settings
from vixio.web.http.routes.ready import READY_PATH

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "vixio.service"
COMPOSE = DEPLOY / "compose.yaml"
WITH_DATABASE = DEPLOY / "compose.postgresql.yaml"
OPERATIONS = ROOT / "docs" / "operations.md"

TO_STOP = Timeouts().drain + STOP_S
"""Seconds until a server has stopped, at the latest."""


def dockerfile(keyword: str) -> list[str]:
    """Return the arguments of an instruction of the image that is run, once for each."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    last = text.rpartition("\nFROM ")[2]
    return re.findall(rf"^{keyword} (.+)$", last, re.MULTILINE)


def unit() -> dict[str, list[str]]:
    """Return the values of each key of the unit, in order."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def service() -> dict[str, Any]:
    (only,) = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"].values()
    assert isinstance(only, dict)
    return only


def test_the_image_is_healthy_when_it_is_ready() -> None:
    (check,) = dockerfile("HEALTHCHECK")
    assert f"http://127.0.0.1:{Settings().server.http_port}{READY_PATH}" in check


def test_the_containers_ports_and_volume_are_those_of_the_image() -> None:
    ports = [each.partition(":")[2] for each in service()["ports"]]
    assert ports == dockerfile("EXPOSE")[0].split()
    assert ports == [str(Settings().server.port), str(Settings().server.http_port)]
    mounted = [each.split(":")[1] for each in service()["volumes"]]
    assert dockerfile("VOLUME")[0] in mounted
    assert service()["working_dir"] in mounted
    data = next(each.partition(":")[0] for each in service()["volumes"] if "/var/lib" in each)
    assert data in yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["volumes"]


def test_the_container_is_built_from_this_project() -> None:
    build = service()["build"]
    assert (COMPOSE.parent / build["context"] / "Dockerfile").resolve() == ROOT / "Dockerfile"
    assert list(build["args"]) == [each.partition("=")[0] for each in dockerfile("ARG")]


def test_the_database_is_the_one_that_the_documented_settings_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    added = yaml.safe_load(WITH_DATABASE.read_text(encoding="utf-8"))
    database = added["services"]["database"]
    (line,) = re.findall(r"^echo '(data: .*)' >>", OPERATIONS.read_text(encoding="utf-8"), re.M)
    monkeypatch.setenv("DB_PASSWORD", "a-password")
    file = tmp_path / "vixio.yaml"
    file.write_text(line, encoding="utf-8")
    url = urlsplit(load_settings(file).data.database.get_secret_value())
    assert url.scheme == "postgresql"
    assert (url.hostname, url.port) == ("database", None)
    assert url.username == database["environment"]["POSTGRES_USER"]
    assert url.path == f"/{database['environment']['POSTGRES_DB']}"
    assert url.password == "a-password"
    assert 'POSTGRES_PASSWORD="$$DB_PASSWORD"' in database["entrypoint"][-1]
    assert "ports" not in database, "only the server reaches it"
    server = added["services"]["vixio"]
    assert "postgresql" in server["build"]["args"]["EXTRAS"].split()
    assert list(server["depends_on"]) == ["database"]
    assert database["volumes"][-1].partition(":")[0] in added["volumes"]


def test_the_password_reaches_the_database_as_the_settings_read_it(tmp_path: Path) -> None:
    """Both read the same file, one with a shell."""
    added = yaml.safe_load(WITH_DATABASE.read_text(encoding="utf-8"))
    script = added["services"]["database"]["entrypoint"][-1].replace("$$", "$")
    (tmp_path / ".env").write_text("# a comment\nDB_PASSWORD='a $pecial one'\n", encoding="utf-8")
    script = script.replace("/settings/.env", str(tmp_path / ".env"))
    script = script.replace("exec docker-entrypoint.sh postgres", 'echo "$POSTGRES_PASSWORD"')
    done = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "a $pecial one\n"


def test_both_wait_for_the_drain_before_they_kill() -> None:
    assert float(service()["stop_grace_period"].removesuffix("s")) >= TO_STOP
    assert float(unit()["TimeoutStopSec"][0]) >= TO_STOP
    # SIGTERM to the processes of models and voices would cut the last sentence.
    assert unit()["KillMode"] == ["mixed"]


def test_both_keep_the_same_state() -> None:
    of_unit = dict(each.split("=") for each in unit()["Environment"][0].split())
    of_image = dict(each.split("=") for line in dockerfile("ENV") for each in line.split())
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
        assert of_unit[name] == of_image[name] == "/var/lib"
    assert f"/var/lib/{unit()['StateDirectory'][0]}" == dockerfile("VOLUME")[0]
    assert unit()["WorkingDirectory"] == [f"/etc/{unit()['ConfigurationDirectory'][0]}"]


@pytest.fixture
def analyze(tmp_path: Path) -> list[str]:
    """The start of a command line, and at its end the unit with a program that is there."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is part of systemd, which this machine has not")
    copy = tmp_path / UNIT.name
    vixio = Path(sys.executable).with_name("vixio")
    text = UNIT.read_text(encoding="utf-8").replace("/opt/vixio/bin/vixio", str(vixio))
    copy.write_text(text, encoding="utf-8")
    return [program, str(copy)]


def test_systemd_understands_the_unit(analyze: list[str]) -> None:
    program, copy = analyze
    done = subprocess.run(
        [program, "verify", copy], capture_output=True, text=True, check=False, timeout=60
    )
    # Other units of the machine are read as well, and may have faults of their own.
    mine = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert mine == []


def test_a_mistake_in_the_unit_would_be_found(analyze: list[str]) -> None:
    program, copy = analyze
    with Path(copy).open("a", encoding="utf-8") as file:
        file.write("[Service]\nKillMode=gently\nProtectEverything=yes\n")
    done = subprocess.run(
        [program, "verify", copy], capture_output=True, text=True, check=False, timeout=60
    )
    mine = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert any("gently" in line for line in mine)
    assert any("ProtectEverything" in line for line in mine)


def test_the_cluster_has_what_its_settings_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    composed = yaml.safe_load((DEPLOY / "compose.cluster.yaml").read_text(encoding="utf-8"))
    services = composed["services"]
    for name in ("DB_PASSWORD", "NATS_PASSWORD", "CLUSTER_SECRET"):
        monkeypatch.setenv(name, "0123456789abcdef")
    settings = load_settings(DEPLOY / "cluster.yaml")
    assert settings.cluster is not None
    assert settings.cluster.address.hosts == ("nats",)
    assert urlsplit(settings.data.database.get_secret_value()).hostname == "database"
    assert {"nats", "database", "haproxy", "prometheus", "grafana"} < set(services)
    users = re.findall(r"^\s+user: (\w+)$", (DEPLOY / "nats.conf").read_text("utf-8"), re.M)
    assert settings.cluster.user in users
    passwords = re.findall(r"password: \$(\w+)", (DEPLOY / "nats.conf").read_text("utf-8"))
    assert f"export {' '.join(passwords)}\n" in services["nats"]["entrypoint"][-1]
    nodes = [name for name in services if name.startswith("node")]
    balanced = (DEPLOY / "haproxy.cfg").read_text(encoding="utf-8")
    for port in (settings.server.port, settings.server.http_port):
        assert set(re.findall(rf"server node\d (node\d):{port}$", balanced, re.M)) == set(nodes)
    for name in nodes:
        assert float(services[name]["stop_grace_period"].removesuffix("s")) >= TO_STOP
        extras = services[name]["build"]["args"]["EXTRAS"].split()
        assert {"nats", "postgresql"} <= set(extras)
    mounted = [
        each.partition(":")[0]
        for service in services.values()
        for each in service.get("volumes", ())
        if each.startswith("./")
    ]
    assert all((DEPLOY / each).exists() for each in mounted if each != "./settings")
    scraped = yaml.safe_load((DEPLOY / "prometheus.yml").read_text(encoding="utf-8"))
    (target,) = scraped["scrape_configs"][0]["static_configs"][0]["targets"]
    assert target == "haproxy:8000"


def test_the_dashboard_shows_metrics_that_there_are() -> None:
    documented = set(re.findall(r"^\| `(vixio_\w+)`", OPERATIONS.read_text("utf-8"), re.M))
    board = json.loads((DEPLOY / "grafana" / "vixio.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    for expression in asked:
        names = {name.removesuffix("_bucket") for name in re.findall(r"vixio_\w+", expression)}
        assert names <= documented, expression
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
