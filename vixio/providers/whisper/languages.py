"""The languages of Whisper's multilingual models."""

from __future__ import annotations

from typing import Final

_CODES: Final = """
af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl gu ha haw he hi hr
ht hu hy id is it ja jw ka kk km kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc
pa pl ps pt ro ru sa sd si sk sl sn so sq sr su sv sw ta te tg th tk tl tr tt uk ur uz vi yi yo zh
"""

LANGUAGES: Final = frozenset(_CODES.split())
"""Those of the models of all sizes: ``LANGUAGES`` in whisper/tokenizer.py of openai-whisper."""
