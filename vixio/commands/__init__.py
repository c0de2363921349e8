"""Commands that are more than a few lines; each imports what is heavy when it is run."""
