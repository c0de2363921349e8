"""``vixio bench echo``: ``device`` plays and hears, ``report`` measures what is left of it."""
