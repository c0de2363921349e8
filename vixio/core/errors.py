"""Every error that Vixio raises on purpose.

VixioError
├── ConfigError                 a setting or an option is wrong; names the key and the remedy
│   └── PluginUnavailable       a plug-in's module cannot be imported; names what to install
├── ProviderError               a VAD, ASR, agent, TTS or vision provider failed
│   ├── ProviderUnavailable     it cannot be used at all: an extra, a key or a file is missing
│   └── ProviderTimeout         it did not answer in its time
├── ToolError                   a tool call failed; knows whether a retry can help
└── ConnectionClosed            the device is gone

An error is classified once, at the edge where it happens; callers read the class and
``retryable`` and nothing else. The message is one line for a person.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Final

UNAVAILABLE: Final = "unavailable"
"""The type of a ToolError whose message is a sentence for the user, in their language."""

REQUEST: Final = "request"
"""The reason of a failure that concerns one request: the provider can serve the next one."""


class VixioError(Exception):
    """Base of all errors below."""


class ConfigError(VixioError):
    """A configuration mistake: one line that names the file, the key path and the remedy."""


class PluginUnavailable(ConfigError):
    """A plug-in's module cannot be imported: one line that names the command to install it."""


class ProviderError(VixioError):
    """A provider (``provider``: its registered name) failed. ``retryable``: a retry may work.

    ``reason`` is a key of :data:`~vixio.core.messages.REASONS`, to be shown on the device, or
    :data:`~vixio.core.messages.LOADING`; empty if there is no short reason. ``retry_after``:
    seconds to wait before the next request, as the service asks; None if it does not. ``part``: the
    kind of the provider (``asr``), once it is known: from who has loaded or used it. ``detail``:
    why a service refuses a request, in its own words and in full: for programs, not for a log.
    """

    def __init__(
        self,
        provider: str,
        message: str,
        *,
        retryable: bool = True,
        reason: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{provider}: {message}")
        self.provider = provider
        self.retryable = retryable
        self.reason = reason
        self.retry_after = retry_after
        self.part = ""
        self.detail = ""


class ProviderUnavailable(ProviderError):
    """The provider cannot be used until an operator installs or configures something."""

    def __init__(self, provider: str, message: str, *, reason: str = "not_ready") -> None:
        super().__init__(provider, message, retryable=False, reason=reason)


class SoundFailed(VixioError):
    """A sound cannot be played, or its rest. ``key``: of the message that says why."""

    def __init__(self, key: str, detail: str) -> None:
        super().__init__(detail)
        self.key = key


class ProviderTimeout(ProviderError):
    """The provider did not answer within ``seconds``."""

    def __init__(self, provider: str, what: str, seconds: float) -> None:
        super().__init__(provider, f"no {what} within {seconds:g} s", reason="timeout")
        self.seconds = seconds


class ToolError(VixioError):
    """A tool call failed.

    ``type`` is a short machine-readable class that the model sees: ``not_found``,
    ``invalid_arguments``, ``timeout``, ``disconnected``, ``failed``, ``busy`` (too many calls at
    the same time), ``denied`` (not for this device), ``no_device`` (it needs one, and the user
    writes without one), ``confirmation_required``, ``unavailable`` (such as a service that
    does not answer; see :data:`UNAVAILABLE`). ``retry_after``:
    seconds to wait before the next request, as the source asks.
    """

    def __init__(
        self, type: str, message: str, *, retryable: bool = False, retry_after: float = 0.0
    ) -> None:
        super().__init__(message)
        self.type = type
        self.retryable = retryable
        self.retry_after = retry_after


class ConnectionClosed(VixioError):
    """The device's connection is closed; nothing can be sent or received any more."""


@contextmanager
def blamed_on(part: str) -> Iterator[None]:
    """Note on a ProviderError that passes which part of the assistant failed."""
    try:
        yield
    except ProviderError as error:
        error.part = error.part or part
        raise


def as_provider_error(provider: str, error: Exception, what: str = "") -> ProviderError:
    """Return ``error`` as a failure of ``provider``: itself, or one that it has caused.

    ``what`` failed, as in ``synthesis``. Words of errors that are not ours are left out.
    """
    if isinstance(error, ProviderError):
        return error
    words = describe(error)
    failure = ProviderError(provider, f"{what} failed ({words})" if what else words)
    failure.__cause__ = error
    return failure


def cause(error: Exception) -> tuple[str, str]:
    """Return the reason and the part of a ProviderError; both empty for other errors."""
    return (error.reason, error.part) if isinstance(error, ProviderError) else ("", "")


def describe(error: BaseException) -> str:
    """Return in one line what went wrong, for a log.

    Of errors that are not ours only the class and the place: their messages may quote a user.
    """
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, VixioError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    place = f" at {PurePath(frames[0].filename).name}:{frames[0].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"
