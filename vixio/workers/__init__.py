"""Several processes that serve the same ports as one server: ``vixio serve --workers N``.

The ``supervisor`` starts and restarts them; each is a ``process`` with its own ``Server``.
What holds for the server as a whole goes through the supervisor's ``hub``, to which each process
has a ``link``, over the messages of ``wire``.
"""
