"""What the stations know about written text: its characters, its markup, its sentences."""
