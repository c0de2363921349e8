"""The example's own settings reach the example's own service."""

from __future__ import annotations

import ast
import importlib.util
import textwrap
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

from vixio.core.metrics import Counters
from vixio.settings import load_settings
from vixio.tools.from_settings import make_runtime

EXAMPLE = Path(__file__).parents[3] / "examples" / "rest_tool.py"


async def test_the_settings_in_the_example_work(tmp_path: Path) -> None:
    words = ast.get_docstring(ast.parse(EXAMPLE.read_text(encoding="utf-8"))) or ""
    text = textwrap.dedent(words.partition("::\n\n")[2])
    spec = importlib.util.spec_from_file_location("rest_tool", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    service = ThreadingHTTPServer(("127.0.0.1", 0), module.Tides)
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    path = tmp_path / "vixio.yaml"
    assert ":8099/" in text
    path.write_text(text.replace(":8099/", f":{service.server_port}/"), encoding="utf-8")
    runtime = make_runtime(load_settings(path, {}), Counters())
    await runtime.start()
    try:
        session = runtime.open("aa:bb", "s")
        turn = session.begin_turn(1, "en")
        (tide,) = (each for each in session.toolset.definitions() if each.source == "rest")
        assert (await turn.run(tide, '{"harbour": "brest"}')).result == "06:25"
        wrong = await turn.run(tide, '{"harbour": "berlin"}')
        assert wrong.error_type == "invalid_arguments"
        await session.close()
    finally:
        await runtime.close()
        service.shutdown()
        thread.join()
        service.server_close()
