"""Nouns that the store has besides projects, sessions and memory: each folder is an app of its own. See CONTRIBUTING.md."""
