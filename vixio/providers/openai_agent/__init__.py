"""The agent on the openai-agents SDK: any OpenAI-compatible model, LiteLLM, or the phrase book.

``backend``, ``provider`` and ``settings`` are cheap to import. Everything else imports the SDK,
which takes seconds, and is therefore imported by the backend's ``start``, off the event loop.
"""
