"""Written text: its characters, its markup, its sentences."""
