"""What a stream is like, from all of its rows or from samples of bounded size.

Measures of a stream of keys: popularity with a Zipf fit, inter-arrival and stack distances, the
locality model and its fits, entropy, bursts. `stream_profile.py` joins them to one `Profile`, and
`summary.py` says it in words. Lossy counting finds frequent keys (`lossy.py`, `epsilon.py`,
`frequent_keys.py`). For a stream too long to hold, `sketch.py` keeps samples and
`sampled_profile.py` estimates the same `Profile` from them, with errors.

Nothing is imported here: the workers of Spark need `lossy.py` alone, and load no more.
"""
