"""Several processes that serve the same ports as one server: ``vixio serve --workers N``.

The ``supervisor`` starts and restarts them; each is a ``process`` with its own ``Server``.
The ``coordinator`` in the supervisor's process holds the state of the whole; each worker reaches it
through its ``cluster.WorkerCluster``, over the messages of ``channel``.
"""
