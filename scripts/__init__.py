"""Programs for the commands of the Makefile."""
