"""Plays recorded chats through the public HTTP API, as a streaming frontend would, and checks the stored result."""
