"""The framework-free heart of Vixio. Standard library only: no vendor, no transport, no codec."""
