"""What can be asked for, one file per noun. Each ends in its rows of the route table."""
