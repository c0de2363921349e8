"""A voice for Vixio that says each letter as a tone. Copy the package to begin one of your own."""
