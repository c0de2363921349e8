"""What the speech benchmark says, and with which voices.

``tuning`` is for choosing thresholds, ``held_out`` for stating figures. They share no sentence, no
voice and no speed; nothing but the benchmark imports ``held_out``.
"""
