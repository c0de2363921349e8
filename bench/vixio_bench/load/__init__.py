"""``vixio bench load``: the real server under many simulated devices, each in its own process.

``command`` reads the options, ``runner`` starts a server and the generators for each step and
collects their figures, ``server`` and ``generator`` are the mains of those processes, ``control``
carries their commands. What is measured and how: docs/performance.md.
"""
