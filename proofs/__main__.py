"""``python -m proofs``: see ``proofs.cli``."""

import sys

try:
    from proofs.cli import main
    from proofs.interruption import heed_termination

    heed_termination()
    sys.exit(main())
except ModuleNotFoundError as error:
    # Status 1 would say "violated": a missing dependency says nothing about a scheduler.
    print(f"proofs: {error}; install what it needs: pip install -e .", file=sys.stderr)
    sys.exit(2)
