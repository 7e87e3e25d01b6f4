"""The forms that a table of expected benefits can take, and what its numbers mean.

Here and not with the models, so that who only reads tables need not import what makes them.
"""

UNKNOWN, STATIONARY, LINE, WALK, SURFACE, SEASON = range(6)  # forms of a table
LEVEL, SLOPE, LOW, STEP, X_LOW, X_STEP, PERIOD = range(7)  # places of numbers
