"""`python -m deniable` is the command `deniable`."""

import sys

from deniable.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
