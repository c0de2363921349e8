"""Several servers for one provider: a list of URLs where its options have one.

Every provider of a service takes it (:attr:`ProviderFactory.servers` names the option), and none
knows of it: there is one provider for each server, and they work as a list whose members share the
work (:mod:`vixio.providers.fallback`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from vixio.providers.faults import fault
from vixio.providers.registry import ProviderFactory

_RETRIES = "retries"


def read_options(
    factory: ProviderFactory[Any, Any], given: Mapping[Any, object]
) -> tuple[BaseModel, ...]:
    """Return the options of a provider, once for each of its servers. Raises ValidationError."""
    key, model = factory.servers, factory.settings_model
    urls = given.get(key) if key else None
    if not isinstance(urls, list | tuple):
        return (model.model_validate(given),)
    if not urls:
        raise fault("expected an address or several, found an empty list", key)
    options: list[BaseModel] = []
    for index, url in enumerate(urls):
        if not isinstance(url, str) or not url:
            raise fault(f"expected an address, found {url!r}", key, index)
        if url in urls[:index]:
            raise fault("this address is in the list twice", key, index)
        try:
            options.append(model.model_validate({**given, key: url}))
        except ValidationError as error:
            raise _placed(error, key, index) from None
    return tuple(options)


def write_options(
    factory: ProviderFactory[Any, Any], each: Sequence[BaseModel]
) -> dict[str, object]:
    """Return the options that are set, as they stand in a file."""
    first = each[0]
    given = {key: getattr(first, key) for key in first.model_fields_set}
    if len(each) > 1:
        given[factory.servers] = [getattr(options, factory.servers) for options in each]
    return given


def without_retries(options: BaseModel) -> BaseModel:
    """Return the options of one of several servers: the next one answers sooner than a retry.

    Retries that are set are not changed.
    """
    if _RETRIES not in type(options).model_fields or _RETRIES in options.model_fields_set:
        return options
    return options.model_copy(update={_RETRIES: 0})


def server_of(factory: ProviderFactory[Any, Any], options: BaseModel) -> str:
    """Return host and port of a provider's server, without a password."""
    return urlsplit(str(getattr(options, factory.servers))).netloc.rpartition("@")[2]


def _placed(error: ValidationError, key: str, index: int) -> ValidationError:
    """Return ``error`` with the number of the address that it is about, if it is about one."""
    for each in error.errors():
        if each["loc"] == (key,):
            cause = each.get("ctx", {}).get("error")
            return fault(str(cause or each["msg"]), key, index)
    return error
