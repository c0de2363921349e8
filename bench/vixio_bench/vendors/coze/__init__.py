"""A stand-in for Coze; what is known of it is in page.md."""
