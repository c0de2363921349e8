"""A stand-in for the voices of MiniMax; what is known of them is in page.md."""
