"""Adapting while an engine runs: parameters and whole policies are found by trying them out.

- `pilot`: which policy is in force: the one that was asked for, or one whose parameters are tuned
- `chooser`: `auto`, which finds the policy and the layout of the memory
- `miniatures`: what is tried: candidates, samples of the keys, small engines that are shown them
- `census`: which policies are in force, counted over the buckets of a query
"""
