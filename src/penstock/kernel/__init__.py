"""The compiled ground floor: NumPy and Numba only.

Everything compiled here is a `NamedTuple` of arrays and a handful of small functions over it, so
that state can be handed to a kernel, grown, saved and restored without a line of code per policy.

- `jit`, `content`: compile kernels, and keep the machine code on disk
- `policy`: the contract of policies; `options`, `durations`: parameters and spans as text
- `shape`: which streams meet in which joins; `slots`: the held tuples, their index and expiry
- `pages`: large tables, and stacks; `rng`: random generators
- `keymap`: from keys to numbers; `keycounts`, `keyrates`, `forecast`: how often keys come
- `order`, `heap`, `members`, `shortlist`, `ladder`, `ranks`: slots in an order, or by score
- `gains`: what a tuple is worth for the goal; `histogram`, `recent`: what a stream was like
"""
