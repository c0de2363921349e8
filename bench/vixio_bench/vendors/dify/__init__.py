"""A stand-in for Dify; what is known of it is in page.md."""
