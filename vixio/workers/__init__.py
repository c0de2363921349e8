"""Several processes that serve the same ports as one server: ``vixio serve --workers N``.

The ``supervisor`` starts them and keeps them running; each is a ``process`` with an App of its own.
What holds for the server as a whole goes through the supervisor's ``hub``, to which each process
has a ``link``, over the messages of ``wire``.
"""
