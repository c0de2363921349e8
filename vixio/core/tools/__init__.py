"""Tools, independent of agent frameworks: definitions, callers, and the set of a session."""
