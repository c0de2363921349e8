"""``vixio talk``: a conversation from a terminal, by the simulated device."""
