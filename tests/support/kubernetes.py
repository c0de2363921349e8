"""Reads deploy/kubernetes and holds manifests against the schemas of Kubernetes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

from vixio.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
KUSTOMIZATION = FOLDER / "kustomization.yaml"

VERSIONS = ("1.30", "1.37")
"""The oldest Kubernetes that the manifests are for, and the newest whose schemas are there."""

Manifest = Mapping[str, Any]

ENVIRONMENT = {
    "POD_NAME": "vixio-6d4cf56db6-x2x5z",
    "POD_IP": "10.244.1.7",
    "NATS_PASSWORD": "n0123456789abcdef",
    "DB_PASSWORD": "d0123456789abcdef",
    "CLUSTER_SECRET": "0123456789abcdef",
}
"""Of a pod."""

NAME = re.compile(r"(?<!\$)\$\{([A-Za-z_]\w*)")
"""A variable in a settings file."""


def kustomization() -> dict[str, Any]:
    """Return the file that names all others."""
    loaded: dict[str, Any] = yaml.safe_load(KUSTOMIZATION.read_text(encoding="utf-8"))
    return loaded


@cache
def manifests() -> tuple[Manifest, ...]:
    """Return all resources, in order. Read once; nobody changes them."""
    texts = (FOLDER.joinpath(name).read_text("utf-8") for name in kustomization()["resources"])
    return tuple(each for text in texts for each in yaml.safe_load_all(text) if each)


def the(kind: str, name: str, among: Sequence[Manifest] | None = None) -> Manifest:
    """Return the only resource of a kind and name."""
    (only,) = [
        each
        for each in (manifests() if among is None else among)
        if (each["kind"], each["metadata"]["name"]) == (kind, name)
    ]
    return only


def faults(manifest: Manifest, version: str) -> list[str]:
    """Return what the schemas of a version find wrong; fields that they do not know are wrong."""
    try:
        kubernetes_validate.validate(dict(manifest), version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [f"{manifest['kind']}: {list(error.absolute_path)}: {error.message}"]
    except kubernetes_validate.SchemaNotFoundError as error:
        return [str(error.message)]
    return []


def pod(workload: Manifest) -> dict[str, Any]:
    """Return the specification of a workload's pods."""
    spec: dict[str, Any] = workload["spec"]["template"]["spec"]
    return spec


def container(workload: Manifest) -> dict[str, Any]:
    """Return the only container of a workload's pods."""
    (only,) = pod(workload)["containers"]
    assert isinstance(only, dict)
    return only


def from_secret(workload: Manifest) -> dict[str, str]:
    """Return the variables of a workload that come from the Secret, and their keys."""
    found: dict[str, str] = {}
    for each in container(workload)["env"]:
        reference = each.get("valueFrom", {}).get("secretKeyRef")
        if reference:
            assert reference["name"] == "vixio"
            found[each["name"]] = reference["key"]
    return found


def variables(workload: Manifest) -> set[str]:
    """Return the names of a workload's environment variables."""
    return {each["name"] for each in container(workload)["env"]}


def node() -> Manifest:
    """Return the workload whose pods are the nodes."""
    return the("Deployment", "vixio")


def settings(**environment: str) -> Settings:
    """Return the settings of a pod. ``environment``: what is different in this one."""
    return load_settings(FOLDER / "vixio.yaml", {**ENVIRONMENT, **environment})
