"""A stand-in for Volcengine's speech services, version 3; what is known of them is in page.md."""
