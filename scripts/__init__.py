"""What the verbs of the Makefile run."""
