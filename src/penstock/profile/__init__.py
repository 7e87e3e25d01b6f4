"""What a stream is like, from all of its rows or from samples of bounded size.

- **Measures** of a stream of keys, `ranked` by popularity: `popularity` with a Zipf fit,
  inter-arrival and stack `distances`, the `locality` model with its fits and its entropy, `bursts`.
- **Profiles.** `stream_profile` joins all measures to one `Profile`, and `summary` says it in
  words. Of a stream too long to hold, `sketch` keeps samples, and `sampled_profile` estimates the
  same `Profile` from them, with errors.
- **Frequent keys.** `lossy` counts them in little memory, `frequent_keys` those of a file.

Nothing is imported here: the workers of Spark need `lossy` alone, and load no more.
"""
