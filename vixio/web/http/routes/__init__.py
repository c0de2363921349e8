"""One module for each kind of route."""
