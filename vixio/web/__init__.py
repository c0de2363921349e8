"""Everything behind the HTTP port."""
