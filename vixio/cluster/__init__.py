"""Implementations of the cluster seam, ``vixio.core.cluster``: ``workers`` is one machine."""
