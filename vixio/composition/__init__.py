"""Parts of the composition root: each makes one part of a server from the settings."""
