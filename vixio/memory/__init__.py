"""What is remembered of devices between connections and restarts, and where.

:class:`~vixio.memory.memory.Memory` stands in front: it gives sessions their histories, loads them
beside the connection and writes behind the conversation. Behind it a
:class:`~vixio.memory.store.MemoryStore` keeps turns, a summary and facts in the sessions of the
agent SDK. Whatever happens to the store costs memory, never a turn.

Nothing here imports the SDK before it is used.
"""
