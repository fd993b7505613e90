"""Run the command line: `python -m windrow`."""

from windrow.cli import main

if __name__ == "__main__":
    main()
