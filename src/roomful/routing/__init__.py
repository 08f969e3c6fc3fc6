"""Deltas and outcomes in, redacted space events out."""
