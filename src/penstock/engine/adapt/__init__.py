"""Adapting while an engine runs: policies and their parameters are found by trying them out.

- `pilot`: which policy is in force, where it is the one that was asked for
- `chooser`: `auto`, which finds the policy, or its parameters
- `shadows`: small engines under other policies, and the sample of the keys that they are shown
- `census`: which policies are in force, counted over the buckets of a query
"""
