"""Tools without a framework: what a tool is, where it comes from, and the set that a session has."""
