"""What Stillhere is compared with: a plain version of the same chat store, and a fast one without features."""
