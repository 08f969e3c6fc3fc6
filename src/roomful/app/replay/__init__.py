"""A story told again: the whole house runs, but its models say what was recorded, what reaches outside has
its recorded outcome, and people do what they did."""
