"""Several providers as one: where one fails, the next one does its work in the same turn.

Modules::

    circuit_breaker.py  when a provider that failed is asked again
    availability.py     whether a provider can be asked, and how much it has to do
    time_shares.py      how several providers share the time until one of them answers
    candidates.py       the providers of one list: start, order, health
    making.py           the provider of a section: one, or several as one
    asr.py, tts.py, vision.py
                        what a failure means for each kind
"""
