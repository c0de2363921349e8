"""Ready tools: weather, news, calculator, units, dates, calendar, web search.

Each is off until ``tools.ready`` names it. A service is asked only by its own tool, at the address
in that tool's options; its answers are kept for a while (:mod:`~vixio.tools.ready.service`). A tool
answers with data for a model and with ``spoken``, the words for a voice in the language of the
device, which the phrase book says as they are. All of them are read-only.
"""
