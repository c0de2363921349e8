"""What is said, and in which language."""
