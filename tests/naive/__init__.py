"""Plain-Python twins of the engines and policies: slow, short, and meant to be obviously right.

Nothing here imports the library. Property tests run a twin and the real thing over the same
arrivals and expect the same results, victims and counters.
"""
