"""The HTTP client of an OpenAI-compatible server that a provider uses: its address and key.

Only the Responses API is used through OpenAI's own client. Importing this module is cheap.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers import service_errors
from vixio.providers.openai_url import BaseUrl, checked_base_url
from vixio.providers.service_client import Server, ServiceClient, checked_key

OFFICIAL_URL: Final = "https://api.openai.com/v1"

_VERSION: Final = re.compile(r"v\d.*")
"""The part of a path that is an API's version: ``v1``, ``v4`` (Zhipu), ``v1beta`` (Gemini)."""


class OpenAIConnection(BaseModel):
    """Options of every provider that uses an OpenAI-compatible server. Times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: BaseUrl | None = Field(
        default=None, description="Of a compatible server, ending in /v1"
    )
    api_key: SecretStr | None = Field(default=None, description="Default: OPENAI_API_KEY")
    connect_timeout: float = Field(default=5.0, gt=0)
    retries: int = Field(default=1, ge=0, le=5)
    """Retries after temporary errors: a refused connection, 429, 5xx."""
    extra_body: dict[str, Any] | None = None
    """Further fields of the request that are specific to one server."""


class SharedClient(ServiceClient):
    """The client of one provider, with its pool of connections, for the whole process.

    ``section``: of the settings, as ``asr``; the error about a missing key names it.
    """

    def __init__(
        self, provider: str, section: str, settings: OpenAIConnection, *, timeout: float
    ) -> None:
        super().__init__(
            provider,
            section,
            self._read_settings,
            timeout=timeout,
            connect_timeout=settings.connect_timeout,
            retries=settings.retries,
        )
        self._settings = settings

    @property
    def base_url(self) -> str:
        """The server's, ending in /v1: of the settings, of the environment, or OpenAI's own."""
        return self._settings.base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL_URL

    @property
    def service(self) -> service_errors.Service:
        """The server, for messages, also before the start."""
        host = urlsplit(self.base_url).netloc.rpartition("@")[2]
        return service_errors.Service(self._provider, self._section, host, self._proxy)

    async def verify(self) -> bool:
        """Ask for the list of models, which costs nothing. True: the server gives it to us.

        False: its answer does not show whether it serves us; some have no such list, and a key may
        be restricted to other requests. Raises ProviderError: no connection, the key is refused, or
        the server's API begins with ``/v1``, which the base URL does not have.
        """
        return await self._listing() is not None

    async def models(self) -> list[str] | None:
        """Return the names of the models that the server lists; None: as :meth:`verify`, False."""
        listing = await self._listing()
        return None if listing is None else _listed_models(listing)

    async def _listing(self) -> bytes | None:
        self.check()
        status, body, headers = await self.run(self.look("models"))
        if status == HTTPStatus.UNAUTHORIZED and b"scope" not in body:
            raise service_errors.of_body(self.service, status, body, headers)
        if _lists_models(status, body):
            return body
        url = self._url
        assert url is not None  # noqa: S101 - checked
        if status == HTTPStatus.NOT_FOUND and not any(map(_VERSION.fullmatch, url.parts)):
            status, body, _ = await self.run(self.look("v1/models"))
            if _lists_models(status, body) or status == HTTPStatus.UNAUTHORIZED:
                whole = url / "v1"
                shown = f"base_url: {whole}" if url.user is None else "base_url with /v1 at its end"
                text = f"the server has its API under /v1 (404 without it): write {shown}"
                raise ProviderUnavailable(self._provider, text, reason="no_model")
        return None

    def _read_settings(self) -> Server:
        settings = self._settings
        key = settings.api_key.get_secret_value() if settings.api_key is not None else ""
        # As OpenAI's client: the key of the environment, which a local server does not need.
        key = key or ("" if settings.base_url else os.environ.get("OPENAI_API_KEY", ""))
        if not (key or settings.base_url):
            raise ProviderUnavailable(
                self._provider,
                f"no key: set {self._section}.api_key, or OPENAI_API_KEY",
                reason="no_key",
            )
        key = checked_key(self._provider, self._section, "api_key", key)
        headers = {"Authorization": f"Bearer {key or 'none'}"}
        for name, variable in _ACCOUNT_HEADERS:
            if not settings.base_url and (value := os.environ.get(variable)):
                headers[name] = value
        try:  # that of the environment has not been checked before
            url = checked_base_url(self.base_url)
        except ValueError as error:
            raise ProviderUnavailable(
                self._provider,
                f"base_url: {error}; see {self._section} in the settings, or the environment",
                reason="no_model",
            ) from None
        return Server(url, headers)


def _lists_models(status: int, body: bytes) -> bool:
    """Whether an answer is a list of models: some servers answer each path, with a page."""
    return status == HTTPStatus.OK and body.lstrip().startswith(b"{")


def _listed_models(body: bytes) -> list[str] | None:
    """Return the names in a list of models; None if it is no such list."""
    try:
        entries = json.loads(body).get("data")
    except ValueError:
        return None
    found = entries if isinstance(entries, list) else []
    return [str(each["id"]) for each in found if isinstance(each, dict) and "id" in each]


_ACCOUNT_HEADERS: Final = (
    ("OpenAI-Organization", "OPENAI_ORG_ID"),
    ("OpenAI-Project", "OPENAI_PROJECT_ID"),
)


class Embeddings:
    """Vectors of texts by one model of one service, with OpenAI's ``POST /embeddings``.

    ``timeout``: seconds for a single text; several have ten times.
    """

    def __init__(self, base_url: str, model: str, api_key: SecretStr, timeout: float) -> None:
        connection = OpenAIConnection(base_url=base_url, api_key=api_key, retries=0)
        self._client = SharedClient(
            "embeddings", "papers.embeddings", connection, timeout=10 * timeout
        )
        self._model = model
        self._timeout = timeout

    async def __call__(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text. Raises ProviderError."""
        await self._client.start()
        seconds = self._timeout if len(texts) == 1 else 10 * self._timeout
        asked = self._client.run(self._ask(texts))
        return await self._client.bounded(asked, "no vectors", seconds)

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        await self._client.close()

    async def _ask(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        answer = await self._client.post_json("embeddings", body)
        try:
            found: list[Any] = json.loads(await answer.read())["data"]
            vectors = {int(each["index"]): list(map(float, each["embedding"])) for each in found}
            return [vectors[at] for at in range(len(texts))]
        except (ValueError, KeyError, TypeError):
            raise ProviderError("embeddings", "the service's answer has no vectors") from None
