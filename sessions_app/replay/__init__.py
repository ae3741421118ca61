"""Plays recorded chats through the public HTTP API, as a streaming frontend would, and checks what comes back."""
