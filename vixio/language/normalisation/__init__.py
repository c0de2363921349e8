"""Text normalisation for voices: numbers, units, dates, money, addresses as they are read."""
