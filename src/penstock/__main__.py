"""`python -m penstock`: the command line, for an interpreter that is named by its path."""

from .cli import main

if __name__ == "__main__":
    main()
