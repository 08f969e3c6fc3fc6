"""How other protocols tell what a run shows in a space. Each is a translation of the same messages."""
