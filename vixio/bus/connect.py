"""Chooses a broker's backend by the scheme of its URL."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from vixio.bus.address import BrokerAddress, parse_address
from vixio.bus.broker import Broker
from vixio.bus.bus import ToolBus
from vixio.core.errors import PluginUnavailable
from vixio.core.metrics import Counters
from vixio.core.plugins import Plugin

_CLASSES: Final = {
    "memory": Plugin("vixio.bus.memory:MemoryBroker"),
    "nats": Plugin("vixio.bus.nats:NatsBroker", "nats"),
    "rabbitmq": Plugin("vixio.bus.rabbitmq:RabbitMqBroker", "rabbitmq"),
    "pulsar": Plugin("vixio.bus.pulsar:PulsarBroker", "pulsar"),
}


def load_client(address: BrokerAddress) -> type[Broker]:
    """Import the backend for ``address``; takes a tenth of a second, so call it in a thread.

    Raises PluginUnavailable if its client is not installed.
    """
    plugin = _CLASSES[address.backend]
    module, _, name = plugin.location.partition(":")
    try:
        found: type[Broker] = getattr(import_module(module), name)
    except ImportError as error:
        raise PluginUnavailable(
            f"{error}; {address.scheme}:// needs its client: {plugin.remedy()}"
        ) from error
    return found


def connect(url: str | BrokerAddress, *, counters: Counters | None = None) -> ToolBus:
    """Return the bus over the broker of ``url``, not started.

    Raises ConfigError for a wrong URL, PluginUnavailable for a client that is not installed.
    """
    address = parse_address(url) if isinstance(url, str) else url
    return ToolBus(load_client(address)(address), counters=counters)
