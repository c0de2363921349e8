"""Tools for Vixio from a sheet of facts. Copy the package to begin one of your own."""
