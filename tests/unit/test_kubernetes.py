"""The manifests of deploy/kubernetes are valid, and their pods fit the server and the image."""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.support.kubernetes import (
    ENVIRONMENT,
    FOLDER,
    NAME,
    ROOT,
    VERSIONS,
    container,
    faults,
    from_secret,
    kustomization,
    manifests,
    node,
    pod,
    settings,
    the,
    variables,
)
from vixio.cluster.nats.presence import STATUS_S
from vixio.cluster.workers.supervisor import STOP_S
from vixio.settings import load_settings
from vixio.web.http.routes.health import HEALTH_PATH
from vixio.web.http.routes.ready import READY_PATH

GUIDE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def dockerfile(keyword: str) -> list[str]:
    """Return the arguments of an instruction of the image, once for each."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(rf"^{keyword} (.+)$", text.rpartition("\nFROM ")[2], re.MULTILINE)


# ------------------------------------------------------------------------------- the manifests


@pytest.mark.parametrize("version", VERSIONS)
def test_the_manifests_are_valid(version: str) -> None:
    assert [fault for each in manifests() for fault in faults(each, version)] == []


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Deployment", ("spec", "minReadySeconds"), "soon"),
        ("Deployment", ("spec", "template", "spec", "terminationGraceSeconds"), 60),
        ("Deployment", ("spec", "selector"), None),
        ("StatefulSet", ("spec", "volumeClaimTemplates"), {"name": "data"}),
        ("Service", ("spec", "ports"), [{"name": "http"}]),
        ("Ingress", ("spec", "rules"), {"host": "vixio.example.org"}),
        ("HorizontalPodAutoscaler", ("spec", "maxReplicas"), None),
        ("NetworkPolicy", ("spec", "ingres"), []),
        ("PodDisruptionBudget", ("spec", "maxUnavailable"), [1]),
    ],
)
def test_a_mistake_in_a_manifest_is_found(kind: str, path: tuple[str, ...], value: Any) -> None:  # noqa: ANN401 - a value of a file
    broken = copy.deepcopy(next(each for each in manifests() if each["kind"] == kind))
    *parents, last = path
    place: Any = broken
    for key in parents:
        place = place[key]
    if value is None:
        del place[last]
    else:
        place[last] = value
    assert all(faults(broken, version) for version in VERSIONS)


def test_an_unknown_kind_is_found() -> None:
    assert faults({"apiVersion": "apps/v2", "kind": "Deployment"}, VERSIONS[0])


def test_the_kustomization_names_all_files() -> None:
    listed = kustomization()
    named = [
        *listed["resources"],
        *(f for each in listed["configMapGenerator"] for f in each["files"]),
    ]
    there = {each.name for each in FOLDER.iterdir() if each.is_file()}
    assert sorted(named) == sorted(there - {"kustomization.yaml"})
    namespace = the("Namespace", listed["namespace"])
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert container(node())["image"] in [each["name"] for each in listed["images"]]


@pytest.mark.slow
def test_kubectl_builds_it() -> None:
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("kubectl is not installed")
    done = subprocess.run(
        [program, "kustomize", str(FOLDER)], capture_output=True, text=True, check=True, timeout=60
    )
    built = list(yaml.safe_load_all(done.stdout))
    assert [fault for each in built for fault in faults(each, VERSIONS[1])] == []
    assert all(
        each["metadata"]["namespace"] == "vixio" for each in built if each["kind"] != "Namespace"
    )
    maps = {each["metadata"]["name"] for each in built if each["kind"] == "ConfigMap"}
    mounted = {
        volume["configMap"]["name"]
        for each in built
        if each["kind"] in ("Deployment", "StatefulSet")
        for volume in pod(each)["volumes"]
        if "configMap" in volume
    }
    assert mounted == maps
    assert len(maps) == len(kustomization()["configMapGenerator"])


def test_services_budgets_and_policies_mean_pods_that_there_are() -> None:
    labels = [
        each["spec"]["template"]["metadata"]["labels"]
        for each in (node(), the("StatefulSet", "nats"))
    ]
    asked: list[dict[str, str]] = []
    for each in manifests():
        spec = each.get("spec", {})
        if each["kind"] == "Service":
            asked.append(spec["selector"])
        elif each["kind"] == "NetworkPolicy":
            asked.append(spec["podSelector"]["matchLabels"])
        elif each["kind"] in ("PodDisruptionBudget", "Deployment", "StatefulSet"):
            asked.append(spec["selector"]["matchLabels"])
    assert len(asked) >= 9
    for selector in asked:
        assert any(selector.items() <= each.items() for each in labels), selector


@pytest.mark.parametrize(("kind", "name"), [("Deployment", "vixio"), ("StatefulSet", "nats")])
def test_pods_have_the_rights_that_they_need_and_no_more(kind: str, name: str) -> None:
    workload = the(kind, name)
    of_pod, of_container = pod(workload)["securityContext"], container(workload)["securityContext"]
    assert of_pod["runAsNonRoot"]
    assert of_pod["runAsUser"] > 0
    assert of_pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert of_container == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod(workload)["automountServiceAccountToken"] is False
    # Else a Service named vixio makes variables VIXIO_…, which the server might read as its own.
    assert pod(workload)["enableServiceLinks"] is False
    volumes = {each["name"] for each in pod(workload)["volumes"]}
    volumes |= {
        each["metadata"]["name"] for each in workload["spec"].get("volumeClaimTemplates", ())
    }
    assert {each["name"] for each in container(workload)["volumeMounts"]} == volumes


# -------------------------------------------------------------------------------- the settings


def test_the_settings_are_valid_and_those_of_the_other_cluster() -> None:
    mine = settings()
    assert mine.cluster is not None
    assert mine.cluster.node == ENVIRONMENT["POD_NAME"]
    assert mine.cluster.reached_at == ENVIRONMENT["POD_IP"]
    assert mine.cluster.websocket_url == "", "the Ingress chooses the pod"
    assert mine.cluster.replicas == the("StatefulSet", "nats")["spec"]["replicas"]
    assert mine.server.workers == 1, "each pod is one node, by the name of the pod"
    others = {
        name: ENVIRONMENT[name] for name in ("NATS_PASSWORD", "DB_PASSWORD", "CLUSTER_SECRET")
    }
    composed = load_settings(ROOT / "deploy" / "cluster.yaml", others)
    assert composed.cluster is not None
    assert mine.cluster.user == composed.cluster.user
    ours, theirs = (urlsplit(each.data.database.get_secret_value()) for each in (mine, composed))
    assert (ours.scheme, ours.username, ours.password, ours.path) == (
        theirs.scheme,
        theirs.username,
        theirs.password,
        theirs.path,
    )


def test_the_longest_name_of_a_pod_is_a_name_of_a_node() -> None:
    """A replica set adds 10 characters, a pod 5, with a hyphen before each."""
    longest = f"{node()['metadata']['name']}-{'f' * 10}-{'x' * 5}"
    named = settings(POD_NAME=longest)
    assert named.cluster is not None
    assert named.cluster.node == longest


def test_what_the_settings_name_is_in_the_environment() -> None:
    text = (FOLDER / "vixio.yaml").read_text(encoding="utf-8")
    named = set(NAME.findall(text))
    assert named == variables(node()) == set(ENVIRONMENT)
    config = (FOLDER / "nats.conf").read_text(encoding="utf-8")
    of_nats = the("StatefulSet", "nats")
    arguments = " ".join(container(of_nats)["args"])
    used = set(re.findall(r": \$(\w+)$", config, re.MULTILINE))
    used |= set(re.findall(r"\$\((\w+)\)", arguments))
    assert used == variables(of_nats)


def test_the_secret_of_the_guide_has_all_keys() -> None:
    (command,) = re.findall(r"kubectl create secret generic vixio .*?(?=\n```)", GUIDE, re.DOTALL)
    made = set(re.findall(r"--from-literal=(\w+)=", command))
    used = [from_secret(each) for each in (node(), the("StatefulSet", "nats"))]
    assert made == {key for each in used for key in each.values()}
    for each in used:
        assert all(name == key for name, key in each.items())
    # NATS would take a password of digits for a number.
    assert set(re.findall(r"=(\w)\$\(openssl", command)) <= set("cdnrt")
    assert len(re.findall(r"=\w\$\(openssl", command)) == len(made)


def test_the_image_of_the_guide_has_what_the_settings_need() -> None:
    (extras,) = re.findall(r'make docker .*?EXTRAS="([^"]+)"', GUIDE)
    composed = (ROOT / "deploy" / "compose.cluster.yaml").read_text(encoding="utf-8")
    assert f"EXTRAS: {extras} " in composed


# ------------------------------------------------------------------------------ the deployment


def test_the_image_fits_the_pod() -> None:
    user = re.search(r"useradd .*--uid (\d+) vixio", (ROOT / "Dockerfile").read_text("utf-8"))
    assert user is not None
    context = pod(node())["securityContext"]
    uid = int(user[1])
    assert (context["runAsUser"], context["runAsGroup"], context["fsGroup"]) == (uid, uid, uid)
    mounts = {each["mountPath"]: each for each in container(node())["volumeMounts"]}
    assert set(mounts) == {"/etc/vixio", "/tmp", *dockerfile("VOLUME")}  # noqa: S108 - of the pod
    assert container(node())["workingDir"] == "/etc/vixio"
    assert "command" not in container(node())
    assert "vixio.yaml" in kustomization()["configMapGenerator"][0]["files"]
    ports = {each["name"]: each["containerPort"] for each in container(node())["ports"]}
    assert ports == {"websocket": settings().server.port, "http": settings().server.http_port}
    assert [str(port) for port in ports.values()] == dockerfile("EXPOSE")[0].split()


def test_the_pod_has_time_to_drain() -> None:
    withdrawn = container(node())["lifecycle"]["preStop"]["sleep"]["seconds"]
    grace = pod(node())["terminationGracePeriodSeconds"]
    assert withdrawn >= 5, "endpoints are withdrawn while it still takes devices"
    assert grace >= withdrawn + settings().timeouts.drain + STOP_S + 5
    rolling = node()["spec"]["strategy"]["rollingUpdate"]
    assert rolling == {"maxUnavailable": 0, "maxSurge": 1}
    assert "replicas" not in node()["spec"], "the autoscaler has the number"


def test_probes_ask_the_routes_that_there_are() -> None:
    probes = {
        name: container(node())[f"{name}Probe"] for name in ("startup", "liveness", "readiness")
    }
    paths = {name: probe["httpGet"]["path"] for name, probe in probes.items()}
    assert paths == {"startup": HEALTH_PATH, "liveness": HEALTH_PATH, "readiness": READY_PATH}
    for name, probe in probes.items():
        assert probe["httpGet"]["port"] == "http", name
        # The health page waits so long for nodes that do not answer.
        assert probe["timeoutSeconds"] > STATUS_S, name
    # A model may take minutes to load, but the ports are open before.
    assert probes["startup"]["periodSeconds"] * probes["startup"]["failureThreshold"] >= 60
