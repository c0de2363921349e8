"""Where a broker is, and how to log in to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from vixio.core.errors import ConfigError

BACKENDS: Final = {
    "memory": "memory",
    "nats": "nats",
    "tls": "nats",
    "ws": "nats",
    "wss": "nats",
    "amqp": "rabbitmq",
    "amqps": "rabbitmq",
    "pulsar": "pulsar",
    "pulsar+ssl": "pulsar",
}
"""Scheme of a URL → the backend for it."""

_ENCRYPTED: Final = frozenset({"tls", "wss", "amqps", "pulsar+ssl", "mqtts"})


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of PEM files. ``ca``: trusted authorities, empty for those of the system.

    ``cert`` and ``key``: this client's certificate, where the broker asks for one.
    """

    ca: str = ""
    cert: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """A broker. ``hosts``: ``host`` or ``host:port``, several of one cluster.

    ``user`` and ``password``, ``token`` (NATS, Pulsar) or ``credentials`` (path of a NATS
    credentials file). ``path``: RabbitMQ's virtual host; the name of a broker in memory.
    """

    scheme: str
    hosts: tuple[str, ...]
    path: str = ""
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    credentials: str = ""
    tls: TlsFiles = field(default_factory=TlsFiles)

    @property
    def backend(self) -> str:
        """The backend for it: a key of ``vixio.bus.connect``."""
        return BACKENDS[self.scheme]

    @property
    def encrypted(self) -> bool:
        """Whether the connection uses TLS."""
        return self.scheme in _ENCRYPTED

    @property
    def urls(self) -> tuple[str, ...]:
        """A URL for each host, without secrets."""
        return tuple(urlunsplit((self.scheme, host, self.path, "", "")) for host in self.hosts)

    def __str__(self) -> str:
        """Return the URL without secrets."""
        path = f"/{self.path.lstrip('/')}" if self.path else ""
        return f"{self.scheme}://{','.join(self.hosts)}{path}"


def parse_address(
    url: str,
    *,
    user: str = "",
    password: str = "",
    token: str = "",
    credentials: str = "",
    tls: TlsFiles | None = None,
) -> BrokerAddress:
    """Return the broker of ``url``: ``scheme://[user:password@]host[:port][,host…][/path]``.

    The keyword arguments take precedence over the URL. Raises ConfigError that shows no secret.
    """
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in BACKENDS:
        known = ", ".join(f"{each}://" for each in BACKENDS)
        raise ConfigError(f"the broker's url begins with {scheme[:20]!r}, expected one of {known}")
    login, _, place = rest.rpartition("@")
    try:
        split = urlsplit(f"//{place}")
        hosts = tuple(host for host in split.netloc.split(",") if host)
        for host in hosts:
            urlsplit(f"//{host}").port  # noqa: B018 - raises ValueError for a wrong port
    except ValueError:
        raise ConfigError("the broker's url has no valid host and port") from None
    if scheme == "memory":
        return BrokerAddress(scheme, (split.netloc or "default",))
    if not hosts:
        raise ConfigError(f"the broker's url names no host: {scheme}://HOST")
    if split.query or split.fragment:
        raise ConfigError("the broker's url has no query: use the settings beside it")
    path = split.path
    if BACKENDS[scheme] == "rabbitmq":
        path = unquote(path.removeprefix("/"))  # the virtual host, which may begin with a slash
    of_url, _, secret = login.partition(":")
    if login and not secret and BACKENDS[scheme] != "rabbitmq":
        token, of_url = token or unquote(of_url), ""  # nats://TOKEN@host, as NATS writes it
    return BrokerAddress(
        scheme,
        hosts,
        path=path,
        user=user or unquote(of_url),
        password=password or unquote(secret),
        token=token,
        credentials=credentials,
        tls=tls or TlsFiles(),
    )
