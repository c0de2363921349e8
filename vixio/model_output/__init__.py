"""What a language model writes, read piece by piece: text for the user, and what is not for ears.

Tool calls written as text, reasoning and control tokens leave the text here, before speech, screen,
history and the next request see it. It is told by tables (``markers``), so that a further family
of models is a further row. Not here: Markdown, formulas and all else that is text for the user in
a written form (``vixio.text``).
"""
