"""The experiments of the five papers, and the comparison of all policies: `python -m papers`.

This is no part of the wheel. It runs from the root of the repository, and reads real data from the
folder that PENSTOCK_DATA names, `../shared/data` by default.

    experiments/   one file for each experiment; tables, figures, and a verdict on every claim
    quality/       every policy on many streams, beside the best there can be
    printed/       algorithms as the papers print them, where Penstock's own depart from that
    theory/        what the papers prove and no policy needs: dominance, reduction, HEEB by its sum
    program.py     the commands
"""
