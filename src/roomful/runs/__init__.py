"""A run's life: it starts, thinks, calls, waits, is answered, resumes, is stopped, ends."""
