"""The xiaozhi wire: JSON and Opus, the same over each carrier."""
