"""Stand-ins for the services behind real providers, in processes of their own.

They speak the services' protocols on loopback and answer at once, so that a turn costs what the
server and its clients cost. ``scripted`` has what all of them hear and say, ``main`` the process.
"""
