"""`vixio papers`, with a registry in a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.paper_files import pdf
from vixio.cli.commands import main


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with settings and documents, the current one."""
    monkeypatch.chdir(tmp_path)
    lines = f"data: {{folder: {tmp_path / 'data'}}}\n"
    (tmp_path / "vixio.yaml").write_text(lines, encoding="utf-8")
    (tmp_path / "boiler.pdf").write_bytes(pdf(["Cover", "Press the red button."]))
    (tmp_path / "letter.txt").write_bytes("钥匙在垫子下面".encode("gb18030"))
    (tmp_path / "broken.pdf").write_bytes(b"nothing")
    return tmp_path


def vixio(*arguments: str, status: int = 0) -> str:
    """Run a command; return what it prints."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == status, result.output
    return result.output


def test_documents_are_added_found_and_erased() -> None:
    assert vixio("papers").startswith("there are no documents")
    assert vixio("papers", "add", "boiler.pdf") == "added boiler.pdf: 2 pages, 2 passages\n"
    vixio("people", "add", "Anna")
    assert vixio("papers", "add", "letter.txt", "--person", "anna").startswith("added letter.txt")
    refused = vixio("papers", "add", "broken.pdf", status=2)
    assert refused.startswith("vixio: broken.pdf: no PDF that can be read")

    listed = vixio("papers", "list").splitlines()
    assert [line.split()[1:4] for line in listed[1:]] == [
        ["boiler.pdf", "all", "2"],
        ["letter.txt", "person", "Anna"],
    ]
    found = vixio("papers", "search", "which button do I press")
    assert found.startswith("boiler.pdf, page 2\n  Press the red button.")
    assert vixio("papers", "search", "钥匙在哪里") == "nothing is found\n"
    hers = json.loads(vixio("papers", "search", "钥匙在哪里", "--person", "Anna", "--json"))
    assert [each["document"] for each in hers] == ["letter.txt"]

    assert vixio("papers", "remove", "boiler.pdf") == "erased boiler.pdf\n"
    assert "no document is called" in vixio("papers", "remove", "boiler.pdf", status=2)
    assert vixio("papers", "erase", "--person", "Anna") == "erased 1 document\n"
    assert "give one of" in vixio("papers", "erase", status=2)
    assert json.loads(vixio("papers", "list", "--json")) == []


def test_a_persons_documents_go_with_the_person() -> None:
    vixio("people", "add", "Anna")
    vixio("papers", "add", "letter.txt", "--person", "Anna")
    vixio("people", "remove", "Anna", "--yes")
    assert json.loads(vixio("papers", "list", "--json")) == []
