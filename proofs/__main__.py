"""``python -m proofs``: see ``proofs.cli``."""

import sys

from proofs.cli import main

sys.exit(main())
