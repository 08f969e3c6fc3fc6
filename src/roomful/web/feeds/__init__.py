"""What a stream tells: of a space, a run, a person's spaces, or one message and what came of it."""
