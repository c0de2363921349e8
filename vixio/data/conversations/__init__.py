"""Conversations on record: what was said, how long each part took, which tools were called."""
