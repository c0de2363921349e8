"""Documents: given in the console or in a folder, asked for in a conversation, erased."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import Answer, Client, api_server
from tests.support.llm_server import Call, LLMServer, calls, text
from tests.support.model_turns import outputs
from tests.support.paper_files import pdf, site, word
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS, ToolUse
from vixio.tools.rest import network
from vixio.web.api.scopes import Scope

OCTETS = {"Content-Type": "application/octet-stream"}
ASK = "what do my papers say about resetting the boiler"
NOTHING = "I found nothing about that in your documents."

MANUAL = pdf(
    [
        "Owner's manual of the boiler.",
        "Safety. Never open the cover.",
        "Reset. To reset the boiler, press the red button for five seconds.",
    ]
)


async def give(call: Client, name: str, content: bytes, **whose: str) -> Answer:
    return await call(
        "POST", "/papers", params={"name": name, **whose}, data=BytesIO(content), headers=OCTETS
    )


async def until(ask: Callable[[], Awaitable[Any]], right: Callable[[Any], bool]) -> Any:  # noqa: ANN401 - of ask
    async with asyncio.timeout(120):
        while not right(found := await ask()):  # noqa: ASYNC110 - of a server, over HTTP
            await asyncio.sleep(0.05)
    return found


async def answered(device: SimulatedDevice, words: str, right: Callable[[str], bool]) -> str:
    """Type until the answer is right: the tool comes with the first document."""

    async def ask() -> str:
        return (await device.type_text(words)).text

    said: str = await until(ask, right)
    return said


async def test_a_question_about_a_pdf(tmp_path: Path) -> None:
    async with api_server(tmp_path, agent={"name": "phrasebook"}) as api:
        call = await api.client(Scope.CONVERSATIONS_READ, Scope.CONVERSATIONS_WRITE)
        async with SimulatedDevice(api.server.device(mode="manual")) as device:
            assert "boiler" not in (await device.type_text(ASK)).text
            given = await give(call, "boiler-manual.pdf", MANUAL)
            assert (given.status, given.body["pages"], given.body["state"]) == (201, 3, "ready")
            said = await answered(device, ASK, lambda answer: "red button" in answer)
            assert said.startswith("In boiler manual, page 3: ")
            await until(
                lambda: asyncio.sleep(0, device.screen),
                lambda lines: any("boiler-manual.pdf, 3" in each for each in lines),
            )
            gone = "look in my papers for carburettors"
            assert (await device.type_text(gone)).text == NOTHING
            found = await call("GET", "/papers/search", params={"question": "red button"})
            assert found.body["passages"][0]["page"] == 3
            assert (await call("DELETE", f"/papers/{given.body['id']}")).status == 204
            assert (await call("DELETE", f"/papers/{given.body['id']}")).status == 404
            assert (await call("GET", "/papers")).body == {"papers": []}


async def test_a_spoken_question_about_a_chinese_pdf(tmp_path: Path) -> None:
    """The model asks for the tool, and names the document; the screen does too."""
    manual = pdf(["热水器说明书", "复位时请按住红色按钮五秒钟。"])

    def model(words: str) -> Sequence[str | ToolUse]:
        answer = "说明书第二页写着：按住红色按钮。"
        return [ToolUse("search_papers", {"question": words}), answer]

    made = {
        "asr": ScriptedASR(["热水器怎么复位？"]),
        "agent": ScriptedAgentBackend(model),
        "tts": ScriptedTTS(seconds_per_char=0.01),
    }
    async with api_server(tmp_path, made=made, assistant={"language": "zh"}) as api:
        call = await api.client(Scope.CONVERSATIONS_READ, Scope.CONVERSATIONS_WRITE)
        assert (await give(call, "热水器.pdf", manual)).status == 201

        async def offered() -> bool:
            sources = {each.name: each for each in api.server.app.tools.sources}
            return bool(sources["documents"].tools())

        await until(offered, bool)
        async with SimulatedDevice(api.server.device()) as device:
            await device.say("how do I reset the boiler")  # the words are the recogniser's
            reply = await device.wait_for_reply(after=0)
            assert "按住红色按钮" in reply.text
            assert any("热水器.pdf, 2" in line for line in device.screen)


async def test_a_model_gets_the_passage_with_its_document_and_page(tmp_path: Path) -> None:
    async with LLMServer() as model:
        agent = {"name": "openai", "model": "m", "base_url": model.base_url}
        async with api_server(tmp_path, agent=agent) as api:
            call = await api.client(Scope.CONVERSATIONS_READ, Scope.CONVERSATIONS_WRITE)
            assert (await give(call, "boiler-manual.pdf", MANUAL)).status == 201
            sources = {each.name: each for each in api.server.app.tools.sources}
            await until(lambda: asyncio.sleep(0, sources["documents"].tools()), bool)
            model.script(
                calls(Call("1", "search_papers", '{"question": "reset the boiler"}')),
                text("The manual says on page 3: press the red button."),
            )
            async with SimulatedDevice(api.server.device(mode="manual")) as device:
                reply = await device.type_text("how do I reset it?")
                assert "page 3" in reply.text
                assert any("boiler-manual.pdf, 3" in line for line in device.screen)
        described = json.dumps(model.requests[0]["tools"])
        assert "search_papers" in described
        assert "Say in your answer which document it is from, and its page." in described
        passages = json.loads(outputs(model)[0])["passages"]
        assert passages[0] == {
            "document": "boiler-manual.pdf",
            "page": 3,
            "text": "Reset. To reset the boiler, press the red button for five seconds.",
        }


async def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    async with api_server(tmp_path, papers={"max_file_mb": 1}) as api:
        call = await api.client(Scope.CONVERSATIONS_READ, Scope.CONVERSATIONS_WRITE)
        refused = await give(call, "broken.pdf", b"nothing of a PDF")
        assert refused.status == 422
        assert refused.body["detail"].startswith("broken.pdf: no PDF that can be read")
        assert (await give(call, "large.txt", b"x" * (2**20 + 1))).status == 413
        assert (await give(call, "../a.txt", b"x")).status == 422
        both = await give(call, "a.txt", b"x", person="Anna", profile="kitchen")
        assert both.status == 422
        assert (await give(call, "a.txt", b"x", person="Nobody")).status == 404
        wrong = await call("POST", "/papers", {"a": 1}, params={"name": "a.txt"})
        assert wrong.status == 415
        assert (await call("GET", "/papers")).body == {"papers": []}


async def test_documents_of_people_and_profiles_are_their_own(tmp_path: Path) -> None:
    async with api_server(tmp_path, agent={"name": "phrasebook"}) as api:
        everything = await api.client(Scope.ADMIN)
        device_ids = []
        async with (
            SimulatedDevice(api.server.device(mode="manual")) as anna,
            SimulatedDevice(api.server.device(mode="manual")) as hall,
        ):
            device_ids = [anna.config.device_id, hall.config.device_id]
            person = (await everything("POST", "/people", {"name": "Anna"})).body
            await everything("PUT", f"/devices/{device_ids[0]}/person", {"person": "Anna"})
            given = await give(
                everything, "letter.txt", b"The key is under the mat.", person="anna"
            )
            assert given.body["person"] == person["id"]
            await give(everything, "hall.md", b"The lamp is in the hall.", profile="kitchen")
            ask = "look in my papers for the key"
            await answered(anna, ask, lambda answer: "under the mat" in answer)
            assert (await hall.type_text(ask)).text == NOTHING
            lamp = "look in my papers for the lamp"
            assert (await anna.type_text(lamp)).text == NOTHING
            whole = await everything("GET", "/papers/search", params={"question": "key lamp"})
            assert whole.body == {"passages": []}
            hers = await everything("GET", "/papers", params={"person": "Anna"})
            assert [each["name"] for each in hers.body["papers"]] == ["letter.txt"]

            assert (await everything("DELETE", "/people/Anna")).status == 204
            left = (await everything("GET", "/papers")).body["papers"]
            assert [each["name"] for each in left] == ["hall.md"]
            erased = await everything("DELETE", "/papers", params={"profile": "kitchen"})
            assert erased.body == {"erased": 1}


async def test_a_folder_is_followed(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/contract.docx").write_bytes(word([("Notice", "It ends after three months.")]))
    (folder / "broken.pdf").write_bytes(b"nothing")
    async with api_server(tmp_path, papers={"folders": [{"path": str(folder)}]}) as api:
        call = await api.client(Scope.CONVERSATIONS_READ)

        async def state() -> dict[str, str]:
            papers = (await call("GET", "/papers")).body["papers"]
            return {each["name"]: each["problem"][:26] for each in papers}

        there = {"contract.docx": "", "broken.pdf": "no PDF that can be read (P"}
        await until(state, lambda found: found == there)
        (folder / "菜谱.txt").write_bytes("宫保鸡丁要放花生米".encode("gb18030"))
        (folder / "broken.pdf").write_bytes(MANUAL)
        await until(state, lambda found: found == {**dict.fromkeys(there, ""), "菜谱.txt": ""})
        found = await call("GET", "/papers/search", params={"question": "宫保鸡丁放什么"})
        assert found.body["passages"][0]["text"] == "宫保鸡丁要放花生米"
        (folder / "菜谱.txt").unlink()
        await until(state, lambda found: found == dict.fromkeys(there, ""))
        folder.rename(tmp_path / "away")  # a disk that is not there has lost nothing
        (tmp_path / "away/broken.pdf").unlink()
        await asyncio.sleep(0)
        assert await state() == dict.fromkeys(there, "")


async def test_a_web_page_comes_from_the_public_internet_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    section: dict[str, Any] = {"folders": [{"path": str(folder)}]}
    with site() as address:
        async with api_server(tmp_path, papers=section) as api:
            call = await api.client(Scope.CONVERSATIONS_READ, Scope.CONVERSATIONS_WRITE)

            async def add(path: str) -> Answer:
                return await call("POST", "/papers/pages", {"address": f"{address}{path}"})

            refused = await add("/guide/stove")
            assert refused.status == 422
            assert "not on the public internet: `vixio papers add`" in refused.body["detail"]
            monkeypatch.setattr(network, "is_public", "127.0.0.1".__eq__)
            assert "not on the public internet" in (await add("/away")).body["detail"]
            assert (await add("/cat")).status == 422
            wrong = await call("POST", "/papers/pages", {"address": "file:///etc/passwd"})
            assert wrong.status == 422
            given = await add("/guide/stove")
            assert (given.status, given.body["origin"]) == (201, f"{address}/guide/stove")
            # It is no file of a folder, which would have gone when the next one is followed.
            (folder / "new.txt").write_text("a new file", "utf-8")

            async def names() -> list[str]:
                papers = (await call("GET", "/papers")).body["papers"]
                return [each["name"] for each in papers]

            await until(names, lambda found: "new.txt" in found)
            (folder / "new.txt").unlink()
            await until(names, lambda found: found == ["stove.html"])
            question = {"question": "which way does the knob turn"}
            found = await call("GET", "/papers/search", params=question)
            assert "copper knob" in found.body["passages"][0]["text"]


class EmbeddingService:
    """OpenAI's ``POST /v1/embeddings``: a dimension for each thing that is meant."""

    MEANINGS = ({"cat", "kitten", "pet"}, {"car", "vehicle", "automobile"})

    def __init__(self) -> None:
        self.fault = ""
        self.asked = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        body = await request.json()
        assert body["model"] == "meanings"
        if self.fault == "busy":
            return web.json_response({"error": {"message": "slow down"}}, status=429)
        if self.fault == "slow":
            await asyncio.sleep(60)
        size = 3 if self.fault == "wide" else 2
        data = [
            {
                "index": at,
                "object": "embedding",
                "embedding": self.vector(text)[:2] + [1.0] * (size - 2),
            }
            for at, text in enumerate(body["input"])
        ]
        return web.json_response({"object": "list", "data": data, "model": "meanings"})

    def vector(self, text: str) -> list[float]:
        words = set(text.lower().replace(".", "").split())
        return [1.0 if words & meant else 0.01 for meant in self.MEANINGS]


async def test_meanings_are_found_and_faults_leave_the_words(tmp_path: Path) -> None:
    service = EmbeddingService()
    app = web.Application()
    app.router.add_post("/v1/embeddings", service.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        chosen = {"base_url": url, "model": "meanings", "timeout": 0.5, "least_score": 0.9}
        async with api_server(tmp_path, papers={"embeddings": chosen}) as api:
            call = await api.client(Scope.CONVERSATIONS_READ, Scope.CONVERSATIONS_WRITE)
            await give(call, "zoo.txt", b"Every kitten sleeps at noon.")
            await give(call, "garage.txt", b"The automobile stands outside.")

            async def search(question: str) -> list[str]:
                found = await call("GET", "/papers/search", params={"question": question})
                return [each["document"] for each in found.body["passages"]]

            await until(
                lambda: search("where is my vehicle"), lambda found: found == ["garage.txt"]
            )
            assert await search("pet") == ["zoo.txt"]
            for fault in ("slow", "busy", "wide"):
                service.fault = fault
                assert await search("vehicle") == []
                assert await search("automobile") == ["garage.txt"]
                asked = service.asked
                assert await search("noon") == ["zoo.txt"]
                assert service.asked == asked  # it is left in peace for a while
                papers = api.server.app._device_services.papers.papers
                papers._silent_until = 0.0  # in place of waiting
            service.fault = ""
            assert await search("vehicle") == ["garage.txt"]
    finally:
        await runner.cleanup()
