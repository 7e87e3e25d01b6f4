"""What frames hold: frequent keys, profiles, and how much memory a join or a cache needs.

`count` counts frequent keys, `profile` says what a stream of keys is like, `advice` says what
budget to buy. `keyed` is a frame as all samplers see it. Workers of a join need `count` alone.
"""
