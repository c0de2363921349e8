"""The section ``cluster``, and the part in a cluster that a process gets by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vixio.cluster.context import ClusterContext
from vixio.cluster.nats.cluster import NatsCluster
from vixio.composition.cluster import make_context
from vixio.composition.registry import signing_secret
from vixio.core.errors import ConfigError, PluginUnavailable
from vixio.core.local_cluster import LocalCluster
from vixio.settings import Settings

SECRET = "0123456789abcdef"
SHARED = {
    "data": {"database": "postgresql://vixio@db/vixio"},
    "memory": {"store": "none"},
}


def settings(**cluster: Any) -> Settings:  # noqa: ANN401 - values of a file
    section = {"url": "nats://bus", "secret": SECRET, **cluster}
    return Settings.model_validate({**SHARED, "cluster": section})


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("url", "amqp://bus", "expected the URL of a NATS server"),
        ("url", "bus", "expected the URL of a NATS server"),
        ("url", "nats://", "names no host"),
        ("secret", "short", "at least 16 bytes"),
        ("node", "a b", "at most 40 letters"),
        ("websocket_url", "http://node", "a URL such as ws://"),
        ("replicas", 9, "less than or equal to 5"),
    ],
)
def test_a_mistake_is_named(key: str, value: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        settings(**{key: value})


def test_a_secret_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "vixio.yaml"
    path.write_text('cluster: {url: "nats://bus"}\n')
    with pytest.raises(ConfigError, match=r"cluster\.secret"):
        Settings.load(path)


def test_without_the_section_a_process_is_alone() -> None:
    assert isinstance(make_context(Settings()).cluster, LocalCluster)


def node(context: ClusterContext) -> NatsCluster:
    assert isinstance(context.cluster, NatsCluster)
    return context.cluster


async def test_with_it_each_process_is_a_node() -> None:
    alone = make_context(settings(node="vixio-1"))
    assert node(alone).node.startswith("vixio-1-")
    assert alone.secret == SECRET
    assert not alone.share_ports
    third = make_context(settings(node="vixio-1"), worker=3)
    assert node(third).node.startswith("vixio-1-3-")
    assert third.share_ports
    unnamed = make_context(settings())
    assert "-8000-" in node(unnamed).node, (
        "several processes of one machine have names of their own"
    )


async def test_what_machines_do_not_share_is_said(caplog: pytest.LogCaptureFixture) -> None:
    make_context(settings())
    assert not caplog.records
    section = {"url": "nats://bus", "secret": SECRET}
    make_context(Settings.model_validate({"cluster": section}))
    assert "set data.database to the URL of a PostgreSQL database" in caplog.text


def test_nodes_sign_with_the_secret_that_they_share(tmp_path: Path) -> None:
    assert signing_secret(settings()) == SECRET
    own = Settings.model_validate({"data": {"folder": str(tmp_path)}})
    assert signing_secret(own) != SECRET


def test_a_client_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "vixio.cluster.nats.cluster", None)
    with pytest.raises(PluginUnavailable, match="nats"):
        make_context(settings())


def test_secrets_are_not_shown() -> None:
    shown = repr(settings(password="hush", token="hush"))
    assert "hush" not in shown
    assert SECRET not in shown
