"""The subcommands of ``python -m proofs``: one module each, with ``add_arguments`` and ``run``."""
