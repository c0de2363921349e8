"""The client of Apache Pulsar: made for an address, and what its errors mean."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pulsar
import pulsar.asyncio
from pulsar.asyncio import PulsarException

from vixio.bus.address import BrokerAddress
from vixio.bus.errors import BrokerError
from vixio.bus.tls import client_context
from vixio.core.errors import ConfigError

OPERATION_S: Final = 5
"""Seconds after which the library gives up a command; it repeats it until then."""

PORTS: Final = {"pulsar": 6650, "pulsar+ssl": 6651}

FAULTS: Final = (PulsarException, pulsar.PulsarException, TypeError, ValueError)
"""What the library raises: for a refusal of the broker, and for a value that it cannot send."""

_SYSTEM_CA: Final = "/etc/ssl/certs/ca-certificates.crt"
"""The authorities of Debian, Ubuntu, Alpine and Arch, which OpenSSL finds as a folder only."""

_NAMESPACE: Final = re.compile(r"[A-Za-z0-9_-]+/[A-Za-z0-9_-]+")

_REFUSALS: Final = frozenset(
    {"AuthenticationError", "AuthorizationError", "ErrorGettingAuthenticationData"}
)


class Client(pulsar.asyncio.Client):  # type: ignore[misc] # the library has no types
    """A client that can be closed by a thread that waits."""

    def end(self) -> None:
        """Close it. Blocks; raises what the library raises.

        Its own ``close`` is done a moment before the library has let go of the callback: a process
        that ends in this moment is aborted.
        """
        self._client.close()


def make_client(address: BrokerAddress, host: str) -> Client:
    """Return a client for a host of ``address``, not connected. Reads files.

    Raises BrokerError for what the library does not understand.
    """
    options: dict[str, Any] = {}
    if address.encrypted:
        client_context(address.tls)  # names the file that cannot be read; the library does not
        options = {
            "tls_validate_hostname": True,
            "tls_trust_certs_file_path": address.tls.ca or _system_ca(),
        }
        if address.tls.cert:
            options["tls_certificate_file_path"] = address.tls.cert
            options["tls_private_key_file_path"] = address.tls.key or address.tls.cert
    try:
        return Client(
            f"{address.scheme}://{host}",
            authentication=_authentication(address),
            operation_timeout_seconds=OPERATION_S,
            connection_timeout_ms=OPERATION_S * 1000,
            stats_interval_in_seconds=0,
            # It would write to standard output. The errors that it raises are logged here.
            logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull),
            **options,
        )
    except FAULTS as error:
        raise BrokerError(f"{address}: {error}", final=True) from error


def namespace(address: BrokerAddress) -> str:
    """Return ``tenant/namespace``, where mailboxes and queues without a namespace are.

    It is the path of the URL; without one, the namespace that every Pulsar has. Raises ConfigError.
    """
    path = address.path.strip("/") or "public/default"
    if not _NAMESPACE.fullmatch(path):
        raise ConfigError(
            f"the path of {address} is not tenant/namespace; expected {address.scheme}://HOST or"
            f" {address.scheme}://HOST/tg/response"
        )
    return path


def reason(error: BaseException) -> str:
    """Return the broker's or the library's words for an error."""
    if isinstance(error, PulsarException):
        return str(error).partition(" ")[2] or str(error)
    return " ".join(str(error).split())[:200] or type(error).__name__


def explain(error: BaseException, address: BrokerAddress) -> str:
    """Return in one line why there is no connection."""
    words = reason(error)
    if words.partition(":")[0] in _REFUSALS:
        return (
            f"{address} refuses the login ({words}): check token, user, password or certificate,"
            " and the rights on the namespace"
        )
    if words in {"Timeout", "ConnectError"}:
        # The library tells a refused login by no other word.
        return (
            f"{address} takes connections, but completes no login: check token, user, password,"
            " certificates and port"
        )
    return f"{address}: {words}"


def _authentication(address: BrokerAddress) -> pulsar.Authentication | None:
    if address.token:
        return pulsar.AuthenticationToken(address.token)
    if address.user:
        return pulsar.AuthenticationBasic(address.user, address.password)
    if address.encrypted and address.tls.cert:
        return pulsar.AuthenticationTLS(address.tls.cert, address.tls.key or address.tls.cert)
    return None


def _system_ca() -> str | None:
    """Return the file of the system's authorities; None: the library's own."""
    if Path(_SYSTEM_CA).is_file():
        return ssl.get_default_verify_paths().cafile or _SYSTEM_CA
    return ssl.get_default_verify_paths().cafile


def _set_future(future: asyncio.Future[Any], result: Any, value: Any) -> None:  # noqa: ANN401 - of an untyped library
    """Finish ``future`` from a thread of the library; replaces the function of that name.

    The library's own raises if the event loop is closed, and an exception in its thread aborts the
    process: a command may outlast the connection by seconds.
    """
    ok = result == pulsar.Result.Ok
    with suppress(RuntimeError):
        future.get_loop().call_soon_threadsafe(
            _finish, future, value, None if ok else PulsarException(result)
        )


def _set_future_v2(future: asyncio.Future[Any], value: Any) -> None:  # noqa: ANN401 - as above
    """Finish ``future`` likewise. The library's own also fails if it is cancelled meanwhile."""
    error = None
    if isinstance(value, pulsar.asyncio._pulsar.Error):  # noqa: SLF001 - exported nowhere
        error = PulsarException(value.error, value.message)
    with suppress(RuntimeError):
        future.get_loop().call_soon_threadsafe(_finish, future, value, error)


def _finish(future: asyncio.Future[Any], value: object, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)


pulsar.asyncio._set_future = _set_future  # noqa: SLF001 - replaced on purpose
pulsar.asyncio._set_future_v2 = _set_future_v2  # noqa: SLF001 - likewise
