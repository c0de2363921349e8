"""What holds for every test."""

from __future__ import annotations

import gc
import logging
import os
import signal
import ssl
from collections.abc import Generator, Iterator

import httpcore2
import pytest

from vixio.composition import capacity
from vixio.composition.core_speed import CoreSpeed, core_speed
from vixio.telemetry.logging.setup import CHATTY
from vixio.web.api import passwords

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell has its background jobs ignore it, and every process that a test starts would inherit
    # that: the ones that are to end on it never would.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # the same of nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


gc.disable()  # until the tests are collected: nearly all that is made meanwhile stays


@pytest.hookimpl(wrapper=True)  # of xdist's own loops as well
def pytest_runtestloop() -> Generator[None, object, object]:
    """Take the collected tests and the imported modules out of every later garbage collection.

    They stay to the end, and going through them costs up to half a second each time. What the tests
    make is looked through a tenth as often as by default, which took a tenth of their time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(30_000, 20, 20)
    gc.enable()
    return (yield)


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A command that a test runs in this process sets levels and handlers for all later tests."""
    root = logging.getLogger()
    touched = [root, *map(logging.getLogger, ("vixio", *CHATTY))]
    before = [(log, log.level, log.handlers[:]) for log in touched]
    yield
    for log, level, handlers in before:
        if log.level != level:  # to set it makes every logger forget what it is enabled for
            log.setLevel(level)
        log.handlers = handlers


@pytest.fixture(autouse=True, scope="session")
def password_cost() -> Iterator[int]:
    """Hash passwords at once in this process, instead of in a quarter of a second; yield N."""
    real = passwords.N
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "N", 2)
        patch.setattr(passwords, "_NOBODYS", passwords._NOBODYS.replace(f"${real}$", "$2$"))
        yield real


@pytest.fixture(autouse=True, scope="session")
def core_measured_once() -> Iterator[None]:
    """Let the servers of this process share what the first has found of the core's speed.

    Each looks four times in its first second, which would be a sixth of what the tests compute.
    """
    found: list[CoreSpeed] = []

    def shared() -> CoreSpeed:
        if len(found) < capacity.LOOKS:
            found.append(core_speed())
        return min(found, key=lambda each: each.slowness * each.shared)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity, "core_speed", shared)
        yield


@pytest.fixture(autouse=True, scope="session")
def authorities_read_once() -> Iterator[None]:
    """Let the HTTP clients of this process share a TLS context for each place of certificates.

    To read those of the system takes 20 ms, and every client of a test would.
    """
    make = httpcore2.default_ssl_context
    made: dict[object, ssl.SSLContext] = {}

    def shared(*, _trust_env: bool = True) -> ssl.SSLContext:
        key = (_trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        if key not in made:
            made[key] = make(_trust_env=_trust_env)
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", shared)
        yield


@pytest.fixture(autouse=True, scope="session")
def api_waited_for() -> Iterator[None]:
    """Let requests wait for the API as long as it takes: the machine may be busy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vixio.web.api.mount.LOAD_S", 300.0)
        yield


@pytest.fixture(autouse=True, scope="session")
def no_memory_around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests do not read or write the memory of the user who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield
