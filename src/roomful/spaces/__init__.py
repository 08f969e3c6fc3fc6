"""Spaces: who may come in, what is said there, what it looked like."""
