"""`python -m medomni`: the command `medomni`."""

from medomni.cli import main

if __name__ == "__main__":
    main()
