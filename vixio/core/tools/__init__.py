"""Tools without a framework: what a tool is, and the set of them that a session has."""
