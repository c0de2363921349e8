"""A server's data as one file: written while it runs, and read on the same or another machine."""
