"""Writes a sentence as it is read: numbers, units, dates, money, codes and addresses in words."""

from __future__ import annotations

import logging
import re
from typing import Final

from vixio.language.normalisation import chinese, english

_log = logging.getLogger(__name__)

_CONCERNED: Final = re.compile(r"[\d@#%℃℉°$€£¥￥]|[A-Za-z]\.[A-Za-z]")
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KANA: Final = re.compile("[\u3041-\u30ff]")
_LATIN: Final = re.compile("[A-Za-z]")
_MEASURE: Final = re.compile(r"\d°?[A-Za-z]{1,5}(/[A-Za-z]{1,3})?(?![A-Za-z])")

LONGEST: Final = 1_000
"""Characters; a longer text stays as it is. A sentence has 200 at most."""


def read(text: str, language: str) -> str:
    """Return ``text`` as a voice should read it. Never raises.

    ``language`` (BCP 47) is that of the conversation. A text without digit or symbol, or in another
    language than English and Chinese, is returned as it is.
    """
    if len(text) > LONGEST or not _CONCERNED.search(text):
        return text
    try:
        match _language_of(text, language):
            case "zh":
                return chinese.spelled(text)
            case "en":
                return english.spelled(text)
            case _:
                return text
    except Exception as error:  # noqa: BLE001 - no sentence is lost to its digits
        _log.debug("a sentence is read as written", extra={"error": type(error).__name__})
        return text


def _language_of(text: str, language: str) -> str:
    """Return in which language the numbers of ``text`` are read, en or zh; "": in another one."""
    main = language.partition("-")[0].lower()
    if main in {"ja", "ko"} or _KANA.search(text):
        return ""
    if _HAN.search(text):
        return "zh"
    if main in {"zh", "cmn", "yue"}:
        return "en" if _LATIN.search(_MEASURE.sub("", text)) else "zh"
    return main if main == "en" else ""
