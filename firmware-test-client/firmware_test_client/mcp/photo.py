"""What the simulated camera sees: a real JPEG, grey squares of 4 by 4 pixels, 16 by 16 in all."""

from __future__ import annotations

import base64

PHOTO = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqM"
    "yP/L2u71////m8H////6/+b9//j/wAALCAAQABABAREA/8QAFgABAQEAAAAAAAAAAAAAAAAABAAF/8QAHxAAAQQBBQEA"
    "AAAAAAAAAAAAEQABAhIEExRhofEV/9oACAEBAAA/AJsn6AlJtOnJJ8TWybCUm7WK2TYSk3aa2TsxKTXvyAPV/9k="
)
