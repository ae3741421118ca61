"""Yardstick B: the same work as A, written for speed only: no framework, no key, no rules."""
