"""`python -m fathom_fleet`."""

from .cli import run

run()
