"""Both protocols of DashScope on one port."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from vixio_bench.vendors.base import Trouble, VendorService
from vixio_bench.vendors.dashscope.sessions import Ears, Mouth
from vixio_bench.vendors.dashscope.tasks import TaskConnection

TASKS_PATH: Final = "/api-ws/v1/inference"
SESSIONS_PATH: Final = "/api-ws/v1/realtime"
KEY: Final = "sk-of-the-stand-in"

MODELS: Final = {
    "fun-asr-realtime": "asr",
    "paraformer-realtime-v2": "asr",
    "cosyvoice-v2": "tts",
    "cosyvoice-v3-flash": "tts",
    "cosyvoice-v3-plus": "tts",
}
"""Those of the tasks, with what they are for."""


class DashScopeService(VendorService):
    """Both protocols on one port."""

    start_s = 0.0
    """Until a task or a session has started."""
    heartbeats = True
    """Whether recognisers send results without words."""
    sentence_ids = True
    """Whether sentences have numbers."""
    sentence_events = True
    """Whether a voice says where its sentences begin and end."""
    cancels = True
    """Whether a voice's task is over at once when it is called off; else it goes on."""
    odd = False
    """Whether sound is cut in the middle of a sample."""
    wait_for_more = True
    """Whether a voice waits for the rest of what is no whole sentence."""

    def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - of the base
        super().__init__(*given, **options)
        self.hotwords = ""
        """The words that a recogniser got."""
        self.instructions: list[str] = []
        """How voices were to speak."""

    @property
    def tasks_url(self) -> str:
        """As the settings have it."""
        return f"{self.ws}{TASKS_PATH}"

    @property
    def sessions_url(self) -> str:
        """As the settings have it."""
        return f"{self.ws}{SESSIONS_PATH}"

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get(TASKS_PATH, self._tasks),
            web.get(TASKS_PATH + "/", self._tasks),
            web.get(SESSIONS_PATH, self._session),
        ]

    def _refusal(self, request: web.Request) -> web.Response | None:
        if asked := self.refusal_asked():
            status, code, words = asked
            return web.json_response({"code": code, "message": words}, status=status)
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or key != KEY or self.trouble(Trouble.REFUSED):
            body = {"code": "InvalidApiKey", "message": "Invalid API-key provided."}
            return web.json_response(body, status=401)
        return None

    async def _tasks(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refusal(request):
            return refusal
        async with self.socket(request) as socket:
            await TaskConnection(self, request, socket).run()
        return socket

    async def _session(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refusal(request):
            return refusal
        model = request.query.get("model", "")
        async with self.socket(request) as socket:
            await (Mouth if "tts" in model else Ears)(self, request, socket, model).run()
        return socket
