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


def make_broker(address: BrokerAddress) -> Broker:
    """Return the broker at ``address``, not connected.

    Raises PluginUnavailable if its client is not installed. Imports that client, which may take a
    tenth of a second.
    """
    module, name = _CLASSES[address.backend]
    try:
        made: Broker = getattr(import_module(module), name)(address)
    except ImportError as error:
        raise PluginUnavailable(
            f'{error}; for {address.scheme}:// install pip install "vixio[{address.backend}]"'
        ) from error
    return made


def connect(url: str | BrokerAddress, *, counters: Counters | None = None) -> ToolBus:
    """Return the bus over the broker of ``url``, not started.

    Raises ConfigError for a wrong URL, PluginUnavailable for a client that is not installed.
    """
    address = parse_address(url) if isinstance(url, str) else url
    return ToolBus(make_broker(address), counters=counters)
