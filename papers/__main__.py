"""`python -m papers`."""

from penstock.cli import main

from .program import app

if __name__ == "__main__":  # worker processes import this module too
    main(app)
