"""What the server reports of itself: metrics, traces and the log."""
