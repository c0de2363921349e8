"""``vixio setup``: from a few questions to a server that a device talks to.

``interview`` asks, ``trial`` installs and tries, ``settings_file`` writes, ``arrival`` waits for
the device; ``steps`` calls them in this order. ``services`` and ``choices`` are the tables of what
can be chosen, ``words`` what is said about it, by language.
"""
