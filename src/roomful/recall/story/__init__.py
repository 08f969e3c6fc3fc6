"""A space's story: all that has to be known to tell it again, as a file, and what is made of one."""
