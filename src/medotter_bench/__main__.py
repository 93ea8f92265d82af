"""`python -m medotter_bench`: the command `medotter`."""

from medotter_bench.cli import main

if __name__ == "__main__":
    main()
