"""The CUDA runner shim: what a scheduler's output must survive in a real model runner."""
