"""The compiled ground floor: NumPy and Numba only.

Everything here is a `NamedTuple` of arrays and a handful of small functions over it, so that
state can be handed to a kernel, grown, saved and restored without a line of code per policy.
"""
