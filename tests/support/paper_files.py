"""Documents that tests make: PDF by hand, Word by python-docx."""

from __future__ import annotations

import io
from collections.abc import Sequence


def pdf(pages: Sequence[str]) -> bytes:
    """Return a PDF with a page for each text; lines of Latin-1, or of Chinese by a CID font."""
    fonts = [
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        (
            b"<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H "
            b"/DescendantFonts [5 0 R] >>"
        ),
        (
            b"<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /CIDSystemInfo "
            b"<< /Registry (Adobe) /Ordering (GB1) /Supplement 0 >> >>"
        ),
    ]
    first = 6
    kids = " ".join(f"{first + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        *fonts,
    ]
    for at, text in enumerate(pages):
        drawn = b" ".join(_line(line) + b" T*" for line in text.splitlines())
        content = b"BT /L 12 Tf 14 TL 50 780 Td " + drawn + b" ET"
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
            b"/Resources << /Font << /L 3 0 R /C 4 0 R >> >> >>" % (first + 2 * at + 1)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    file, places = io.BytesIO(b"%PDF-1.4\n"), list[int]()
    file.seek(0, io.SEEK_END)
    for number, each in enumerate(objects, 1):
        places.append(file.tell())
        file.write(b"%d 0 obj\n%s\nendobj\n" % (number, each))
    start = file.tell()
    file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    file.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    file.write(b"trailer << /Size %d /Root 1 0 R >>\n" % (len(objects) + 1))
    file.write(b"startxref\n%d\n%%%%EOF\n" % start)
    return file.getvalue()


def _line(line: str) -> bytes:
    if line.isascii():
        escaped = line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        return b"/L 12 Tf (" + escaped.encode("latin-1") + b") Tj"
    return b"/C 12 Tf <" + line.encode("utf-16-be").hex().encode() + b"> Tj"


def word(parts: Sequence[tuple[str, str]]) -> bytes:
    """Return a Word file with headings and texts; a form feed in a text begins a page."""
    import docx
    from docx.enum.text import WD_BREAK

    document = docx.Document()
    for heading, text in parts:
        if heading:
            document.add_heading(heading, 1)
        for number, page in enumerate(text.split("\f")):
            paragraph = document.add_paragraph()
            if number:
                paragraph.add_run().add_break(WD_BREAK.PAGE)
            paragraph.add_run(page)
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()
