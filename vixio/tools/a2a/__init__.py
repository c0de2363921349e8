"""Remote A2A agents as tools: each skill of an agent's card is a tool that asks the agent.

A client of our own on the HTTP client of the REST tools (``client``), for protocol 1.0 (JSON-RPC
and HTTP+JSON) and 0.3 (JSON-RPC): the SDK's client takes 20 MB, reads without bounds, and follows
a card to any host. ``protocol`` holds the wire shapes, ``events`` reads event streams, ``card``
reads agent cards, ``listing`` makes tools of them. ``exchange`` is one message and everything until
the agent's task stops; ``answer`` collects its words; ``conversation`` is what one session has with
one agent. ``source`` keeps the card current; ``settings`` and ``factory`` make a source from a
settings file.
"""
