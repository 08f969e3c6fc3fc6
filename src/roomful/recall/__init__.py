"""What a run remembers: its transcript, rebuilt from rows, and the context in which it began."""
