"""Chooses a broker's backend by the scheme of its URL."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from vixio.bus.address import BrokerAddress, parse_address
from vixio.bus.broker import Broker
from vixio.bus.bus import ToolBus
from vixio.core.errors import PluginUnavailable
from vixio.core.metrics import Counters

_CLASSES: Final = {
    "memory": ("vixio.bus.memory", "MemoryBroker"),
    "nats": ("vixio.bus.nats", "NatsBroker"),
    "rabbitmq": ("vixio.bus.rabbitmq", "RabbitMqBroker"),
    "pulsar": ("vixio.bus.pulsar", "PulsarBroker"),
}


def load_client(address: BrokerAddress) -> type[Broker]:
    """Import the backend for ``address``; takes a tenth of a second, so call it in a thread.

    Raises PluginUnavailable if its client is not installed.
    """
    module, name = _CLASSES[address.backend]
    try:
        found: type[Broker] = getattr(import_module(module), name)
    except ImportError as error:
        raise PluginUnavailable(
            f"{error}; {address.scheme}:// needs its client: "
            "scripts/install_lock.sh .venv requirements-brokers.lock (docs/brokers.md)"
        ) from error
    return found


def connect(url: str | BrokerAddress, *, counters: Counters | None = None) -> ToolBus:
    """Return the bus over the broker of ``url``, not started.

    Raises ConfigError for a wrong URL, PluginUnavailable for a client that is not installed.
    """
    address = parse_address(url) if isinstance(url, str) else url
    return ToolBus(load_client(address)(address), counters=counters)
