"""The agent: any OpenAI-compatible model, LiteLLM, or the phrase book, in a loop with its tools.

Cheap to import but for ``sdk_model``, ``sdk_models`` and ``tools``, which import the openai-agents
SDK. That takes seconds, so they are imported in a thread, and only by what needs them: the
Responses API, LiteLLM, and tools that are the SDK's own.
"""
