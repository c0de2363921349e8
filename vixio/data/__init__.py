"""What is kept: the database, and the aggregates in it."""
