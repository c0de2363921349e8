"""Two recognisers that hear the same utterance: one of commands, and one of free speech.

``arbiter`` chooses between their words, ``provider`` feeds both, ``settings`` has the options.
"""
