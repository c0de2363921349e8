"""The way from devices to the pods of deploy/kubernetes, that to NATS, and the number of pods."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from tests.support.kubernetes import (
    FOLDER,
    ROOT,
    container,
    kustomization,
    manifests,
    node,
    settings,
    the,
)
from vixio.transports.xiaozhi.settings import XiaozhiSettings
from vixio.web.api.routing import PREFIX as API
from vixio.web.http.firmware_link import FIRMWARE_PATH
from vixio.web.http.ota import OtaSettings
from vixio.web.http.routes.health import HEALTH_PATH
from vixio.web.http.routes.metrics import METRICS_PATH
from vixio.web.http.routes.ready import READY_PATH
from vixio.web.http.vision_offer import VISION_PATH

GUIDE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def target(path: str) -> str:
    """Return the port to which the Ingress passes a path; empty: to none."""
    (rule,) = the("Ingress", "vixio")["spec"]["rules"]
    entries = [
        each
        for each in rule["http"]["paths"]
        if path == each["path"] or path.startswith(each["path"].rstrip("/") + "/")
    ]
    if not entries:
        return ""
    chosen = max(entries, key=lambda each: len(each["path"]))["backend"]["service"]
    of_service = {
        each["name"]: each["targetPort"] for each in the("Service", "vixio")["spec"]["ports"]
    }
    assert chosen["name"] == "vixio"
    return str(of_service[chosen["port"]["name"]])


def test_the_ingress_leads_to_the_routes_that_there_are() -> None:
    ota = OtaSettings(websocket_port=1)
    assert target(ota.websocket_path) == "websocket"
    for path in (ota.ota_path, FIRMWARE_PATH + "a/b/c", VISION_PATH, f"{API}/devices"):
        assert target(path) == "http", path
    for path in ("/", HEALTH_PATH, READY_PATH, METRICS_PATH):
        assert target(path) == "", f"{path} is not for the outside"


def test_the_balancer_does_as_haproxy() -> None:
    balanced = (ROOT / "deploy" / "haproxy.cfg").read_text(encoding="utf-8")
    notes = the("Service", "vixio")["metadata"]["annotations"]
    assert f"balance {notes['haproxy.org/load-balance']}\n" in balanced
    assert f"timeout server {notes['haproxy.org/timeout-server']}\n" in balanced
    ping = XiaozhiSettings().ping_interval
    assert f"an idle WebSocket for more than {ping:g} s" in GUIDE
    assert float(notes["haproxy.org/timeout-server"].removesuffix("s")) > ping
    header, value = the("Ingress", "vixio")["metadata"]["annotations"][
        "haproxy.org/request-set-header"
    ].split(" ", 1)
    assert f"set-header {header} {value}\n" in balanced


def allowed(policy: str, port: int) -> list[dict[str, str]] | None:
    """Return the labels of the pods that may reach a port; None: everything may."""
    found: list[dict[str, str]] = []
    for rule in the("NetworkPolicy", policy)["spec"]["ingress"]:
        if any(each["port"] == port for each in rule.get("ports", [{"port": port}])):
            if "from" not in rule:
                return None
            found += [each["podSelector"]["matchLabels"] for each in rule["from"]]
    return found


def test_nats_is_reached_by_nodes_and_tool_services_alone() -> None:
    ports = {
        each["name"]: each["containerPort"]
        for each in container(the("StatefulSet", "nats"))["ports"]
    }
    own, nats = ({"app.kubernetes.io/name": name} for name in ("vixio", "nats"))
    tools = {"app.kubernetes.io/component": "vixio-tool-service"}
    assert allowed("nats", ports["client"]) == [own, tools]
    assert f"{next(iter(tools))}: {tools['app.kubernetes.io/component']}" in GUIDE
    assert allowed("nats", ports["routes"]) == [nats]
    assert allowed("nats", ports["monitor"]) == []
    assert allowed("vixio", settings().server.port) is None
    assert allowed("vixio", settings().server.http_port) is None
    # A2A: at a port that the system chooses.
    assert allowed("vixio", 43_210) == [own]
    mine = settings().cluster
    assert mine is not None
    assert the("Service", mine.address.hosts[0])["spec"]["ports"][0]["port"] == ports["client"]


# -------------------------------------------------------------------------------------- scaling


def monitoring(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / "monitoring" / name).read_text("utf-8"))
    return loaded


def test_the_autoscaler_goes_by_a_metric_that_there_is() -> None:
    spec = the("HorizontalPodAutoscaler", "vixio")["spec"]
    scaled = spec["scaleTargetRef"]
    assert (scaled["kind"], scaled["name"]) == ("Deployment", node()["metadata"]["name"])
    (metric,) = spec["metrics"]
    name = metric["pods"]["metric"]["name"]
    assert re.search(rf"^\| `{name}` \| gauge \|", OPERATIONS, re.MULTILINE)
    (rule,) = monitoring("prometheus-adapter.yml")["rules"]
    assert rule["name"] == {"as": name}
    assert rule["seriesQuery"].startswith(f"{name}{{")
    assert set(rule["resources"]["overrides"]) == {"namespace", "pod"}
    down, up = (spec["behavior"][f"scale{way}"] for way in ("Down", "Up"))
    assert down["stabilizationWindowSeconds"] > 300 > up["stabilizationWindowSeconds"]
    assert [each["value"] for each in down["policies"] if each["type"] == "Pods"] == [1]
    (budget,) = [
        each["spec"]["maxUnavailable"]
        for each in manifests()
        if each["kind"] == "PodDisruptionBudget" and each["metadata"]["name"] == "vixio"
    ]
    assert budget < spec["minReplicas"]


def test_prometheus_reads_from_each_pod_what_is_its_own() -> None:
    (job,) = monitoring("prometheus.yml")["scrape_configs"]
    (search,) = job["kubernetes_sd_configs"]
    assert search["namespaces"]["names"] == [kustomization()["namespace"]]
    assert job.get("metrics_path", "/metrics") == METRICS_PATH
    kept = {
        each["source_labels"][0]: each["regex"]
        for each in job["relabel_configs"]
        if each.get("action") == "keep"
    }
    labels = node()["spec"]["template"]["metadata"]["labels"]
    label, port = kept.values()
    assert label == labels["app.kubernetes.io/name"]
    assert port in [each["name"] for each in container(node())["ports"]]
    (own,) = job["metric_relabel_configs"]
    assert own == {"source_labels": ["worker"], "target_label": "pod", "action": "keepequal"}


def test_the_logins_of_nats_are_the_same_as_in_the_other_file() -> None:
    def logins(path: Path) -> str:
        return path.read_text(encoding="utf-8").partition("\nauthorization {")[2]

    assert logins(FOLDER / "nats.conf") == logins(ROOT / "deploy" / "nats.conf") != ""
