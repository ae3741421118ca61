"""Yardstick A: plain Django and Ninja. ORM, one INSERT a save, synchronous views, Django's own ASGI handler under uvicorn."""
