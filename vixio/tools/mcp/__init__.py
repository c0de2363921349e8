"""Tools of MCP servers: one supervised client for each server and process, through the agent SDK.

``source`` keeps a server connected and its list current; ``connection`` (the only module that
imports the SDK, which takes seconds, off the event loop) is one connection to it; ``listing`` and
``content`` turn what the protocol says into definitions and results; ``stderr`` logs what a child
process writes.
"""
