"""`vixio papers`, with a registry in a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.paper_files import pdf, site
from vixio.cli.commands import main
from vixio.composition import papers


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


def test_a_web_page_is_fetched_once_and_kept_with_its_address() -> None:
    with site() as address:
        page = f"{address}/guide/stove"
        assert vixio("papers", "add", f"{page}#knob") == "added stove.html: 1 passages\n"
        assert vixio("papers", "add", f"{address}/guide/%E7%83%A4%E7%AE%B1.pdf").startswith(
            "added 烤箱.pdf: 2 pages"
        )
        assert vixio("papers", "add", f"{address}/moved") == "added moved.html: 1 passages\n"
        vixio("papers", "add", page)  # replaces what is there of this address
    kept = json.loads(vixio("papers", "list", "--json"))
    assert {each["name"]: each["origin"].removeprefix(address) for each in kept} == {
        "moved.html": "/moved",
        "stove.html": "/guide/stove",
        "烤箱.pdf": "/guide/%E7%83%A4%E7%AE%B1.pdf",
    }
    assert len(kept) == 3
    found = vixio("papers", "search", "which way does the copper knob turn")
    assert "Turn the copper knob to the left." in found
    assert vixio("papers", "remove", "stove.html") == "erased stove.html\n"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/cat", "127.0.0.1 answers with image/png: PDF, Word (.docx), Markdown, text and web"),
        ("/nowhere", "127.0.0.1 answers with 404"),
        ("/large", "127.0.0.1: it has more than 1 MB"),
        ("/round", "127.0.0.1: the service redirects more than 3 times"),
        ("/slow", "127.0.0.1: it has not come within 1 s"),
    ],
)
def test_what_is_no_page_is_named(
    path: str, said: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(papers, "PAGE_S", 1.0 if path == "/slow" else 20.0)
    with (here / "vixio.yaml").open("a", encoding="utf-8") as settings:
        settings.write("papers: {max_file_mb: 1}\n")
    with site() as address:
        assert said in vixio("papers", "add", f"{address}{path}", status=2)
    assert json.loads(vixio("papers", "list", "--json")) == []


@pytest.mark.parametrize("address", ["https://", "http://a:b@example.org/", "http://[::1/x"])
def test_what_is_no_address_of_a_page_is_refused(address: str) -> None:
    said = vixio("papers", "add", address, status=2)
    assert "expected an address" in said or "a password is not kept" in said
