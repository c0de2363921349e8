"""What all carriers and the HTTP server share: who may connect, how often, and when."""
