"""The forms that L and a table of expected benefits can take, and what a table's numbers mean.

Here and not with the models, so that who only reads tables need not import what makes them.
"""

KINDS = ("exp", "fixed", "inf", "inv")  # of L, the chance to be held still
UNKNOWN, STATIONARY, LINE, WALK, SURFACE, SEASON = range(6)  # forms of a table
LEVEL, SLOPE, LOW, STEP, X_LOW, X_STEP, PERIOD = range(7)  # places of numbers
