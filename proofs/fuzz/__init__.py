"""Random executions of the model with the runner attached: a second line of defence.

Every execution is drawn from the legal inputs only, checked after every step by the catalogue's
own claims and by the CUDA runner shim, and kept as a ``Scenario``: what the fuzzer finds, the
replay shows as the same ``Trace`` the prover's counterexamples are.
"""
