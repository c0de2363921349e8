"""Tools of MCP servers: one supervised client per server and process, through the MCP SDK.

``source`` keeps a server connected and its list current; ``connection`` (the only module that
imports the SDK, which takes seconds, off the event loop) is one connection to it; ``listing`` and
``content`` convert the protocol's messages to definitions and results; ``stderr`` logs what a child
process writes; ``settings`` and ``factory`` make a source from a settings file.
"""
