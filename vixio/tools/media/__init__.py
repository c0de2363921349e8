"""Music, stories, podcasts and radio: found by name, played as a speech of the session."""
