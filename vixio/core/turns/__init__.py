"""Turn-taking: the floor, endpointing, interruption, and the bookkeeping of a turn."""
