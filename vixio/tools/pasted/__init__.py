"""Tools that a person pastes: the JSON of desktop programs, or an address, read as tool sources.

``text`` reads JSON with the places of its values; ``servers`` makes sources of it; ``trial`` starts
them once, lists their tools and calls one.
"""
