"""Stand-ins for the services of vendors, each with a page of what is known of its wire.

Each is written from the vendor's description, and imports nothing of the server's: what both got
wrong in the same way would otherwise be seen by nobody.
"""
