"""The memory of devices between connections and restarts.

:class:`~vixio.data.memory.memory.Memory` gives sessions their histories. It loads them in the
background of a connection and writes them in the background of the conversation. A
:class:`~vixio.data.memory.repository.MemoryRepository` keeps turns, a summary and facts in the
registry's database. A failure of the database costs memory, never a turn.
"""
