"""How a committed event reaches those who listen: `hub` is the door, this is the house behind it."""
