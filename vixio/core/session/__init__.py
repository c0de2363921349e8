"""One device's conversation: the session, its replies, its commands and its events."""
