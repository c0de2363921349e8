"""Documents of each kind are read in a program of its own; broken ones cost themselves."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest

from tests.support.paper_files import pdf, word
from vixio.data.papers import reading
from vixio.data.papers.reader import PaperLimits, PaperReader
from vixio.data.papers.records import PaperError, Passage


async def read(name: str, content: bytes, limits: PaperLimits | None = None) -> list[Passage]:
    return list(await PaperReader(limits or PaperLimits()).read(name, content))


async def test_a_pdf_has_the_pages_of_its_texts() -> None:
    found = await read(
        "boiler.pdf",
        pdf(["Cover", "Press the reset\nbutton for five sec-\nonds.", "锅炉压力应为一点五巴"]),
    )
    assert [(each.page, each.text) for each in found] == [
        (1, "Cover"),
        (2, "Press the reset button for five seconds."),
        (3, "锅炉压力应为一点五巴"),
    ]


async def test_a_word_file_has_headings_and_pages() -> None:
    found = await read(
        "contract.docx", word([("Notice", "Three months.\fTo the end."), ("Rent", "900 euro")])
    )
    assert [(each.page, each.heading, each.text) for each in found] == [
        (1, "Notice", "Notice Three months."),
        (2, "Notice", "To the end."),
        (2, "Rent", "Rent 900 euro"),
    ]


async def test_markdown_is_read_without_its_marks() -> None:
    found = await read(
        "garden.md", b"# Roses\n\nCut them in **March**, see [here](http://x.example).\n"
    )
    assert [(each.heading, each.text) for each in found] == [
        ("Roses", "Roses Cut them in March, see here.")
    ]


async def test_a_web_page_is_read_without_scripts() -> None:
    page = (
        "<html><head><title>Bus</title><script>var a=1</script></head><body><nav>Home</nav>"
        "<h2>Line 7</h2><p>Every <b>ten</b> minutes</p></body>"
    )
    found = await read("bus.html", page.encode())
    assert [(each.heading, each.text) for each in found] == [("Line 7", "Line 7 Every ten minutes")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
@pytest.mark.parametrize("name", ["菜谱.txt", "菜谱.html"])
async def test_chinese_text_is_read_in_each_encoding(encoding: str, name: str) -> None:
    (found,) = await read(name, "宫保鸡丁要放花生米，\n最后放。".encode(encoding))
    assert found.text == "宫保鸡丁要放花生米，最后放。"


async def test_western_text_of_old_programs_is_read() -> None:
    (found,) = await read("brief.txt", "Öffnungszeiten: täglich außer Montag".encode("cp1252"))
    assert found.text == "Öffnungszeiten: täglich außer Montag"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.pdf", b"no pdf at all", "no PDF that can be read"),
        ("a.pdf", pdf(["whole"])[:-200], ""),
        ("a.docx", b"PK no zip", "no Word file"),
        ("a.txt", b"  \n ", "there is no text in it"),
        ("a.xls", b"x", "by their ending"),
        ("a.pdf", pdf([""]), "text recognition"),
    ],
)
async def test_what_cannot_be_read_says_why(name: str, content: bytes, said: str) -> None:
    if not said:  # cut off: what is there is read, or it is refused; nothing else
        try:
            assert await read(name, content)
        except PaperError:
            return
        return
    with pytest.raises(PaperError, match=said.replace("(", r"\(")):
        await read(name, content)


async def test_a_file_that_is_large_when_it_is_unpacked_is_refused() -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"0" * (reading.UNPACKED_BYTES + 1))
    with pytest.raises(PaperError, match="too large when it is unpacked"):
        await read("bomb.docx", packed.getvalue())


async def test_a_document_that_takes_the_memory_costs_its_program_alone() -> None:
    from zlib import compress

    stream = compress(b"(x) Tj " * 90_000_000, 9)  # 630 MB when it is unpacked
    content = pdf([""]).replace(b"endstream", b"endstream", 1)
    bomb = content.replace(
        b"stream\nBT", b"stream\n" + stream + b"\nendstream\nendobj\n99 0 obj\n<< >> stream\nBT", 1
    ).replace(b"<< /Length", b"<< /Filter /FlateDecode /Length", 1)
    with pytest.raises(PaperError):
        await read("bomb.pdf", bomb, PaperLimits(seconds=3))


async def test_bounds_are_said() -> None:
    with pytest.raises(PaperError, match="it has 3 pages, 2 are allowed"):
        await read("a.pdf", pdf(["a", "b", "c"]), PaperLimits(pages=2))
    with pytest.raises(PaperError, match="more than 10 characters"):
        await read("a.txt", b"x" * 11, PaperLimits(chars=10))
    with pytest.raises(PaperError, match="more than 0 MB"):
        await read("a.txt", b"x" * 11, PaperLimits(size=10))
