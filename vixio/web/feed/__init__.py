"""The event stream: what happens in all processes of a server, for whoever watches it."""
