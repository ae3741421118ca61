"""What can be asked of a server, each written once: see `connection.py`."""
