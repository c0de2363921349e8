"""The memory of devices between connections and restarts.

:class:`~vixio.data.memory.memory.Memory` gives sessions their histories. It loads them in the
background of a connection and writes them in the background of the conversation. A
:class:`~vixio.data.memory.store.MemoryStore` keeps turns, a summary and facts in the format of the
agent SDK's sessions. A failure of the store costs memory, never a turn.

Only the stores for SQLAlchemy and Redis import the SDK, when they are made.
"""
