"""Whether a newcomer must compete with what is held, or always comes in."""

import numpy as np

from ..core.policy import check_choice

ALWAYS, COMPETE = "always", "compete"


def admits_always(policy: str, admit: str) -> np.ndarray:
    """Return bool[1] for a policy's state, after checking the parameter `admit`."""
    check_choice(policy, "admit", admit, (ALWAYS, COMPETE))
    return np.array([admit == ALWAYS])
