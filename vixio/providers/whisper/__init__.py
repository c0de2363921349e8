"""OpenAI's Whisper by faster-whisper (CTranslate2, without torch).

``files`` joins the model from the packages that carry it, ``model`` runs it, ``provider`` has the
settings.
"""
