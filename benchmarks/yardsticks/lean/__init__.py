"""Yardstick B: the same work as A with all care for speed and nothing else: no framework, no key, no rules."""
