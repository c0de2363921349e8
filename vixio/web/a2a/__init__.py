"""The voice agent as an A2A agent: other agents talk to it, and bring tools of their own.

``mount`` is all that a server without a request for it imports; the rest is imported in a thread.
"""
