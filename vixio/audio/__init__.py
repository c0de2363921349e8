"""Audio samples and codecs. Heavy imports happen when they are first needed."""
