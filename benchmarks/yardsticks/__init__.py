"""What Stillhere is measured against: the same chat store as one would write it plainly, and with all care but no features."""
