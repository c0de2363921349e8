"""``vixio bench conversation``: how a conversation feels, with features off and on.

``situations`` is what is said, ``play`` says it to a running server, ``report`` compares.
"""
