"""Messages as frameworks write them: read into one neutral form, written from it, recognised."""
