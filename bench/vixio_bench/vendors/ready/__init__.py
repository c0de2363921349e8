"""Stand-ins for what the ready tools ask; what is known of the services is in page.md."""
