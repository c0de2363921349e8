"""The memory of devices between connections and restarts.

:class:`~vixio.memory.memory.Memory` gives sessions their histories. It loads them in the background
of a connection and writes them in the background of the conversation. A
:class:`~vixio.memory.store.MemoryStore` keeps turns, a summary and facts in sessions of the agent
SDK. A failure of the store costs memory, never a turn.

Nothing here imports the SDK before it is used.
"""
