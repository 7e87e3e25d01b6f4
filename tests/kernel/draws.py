"""How long the lists of operations are that the tests of the structures draw."""

from hypothesis import strategies as st


def runs(elements, most=120):
    """Draw short lists, which are easy to read, or long ones, in which something happens.

    Hypothesis's own lists have about five elements, whatever their greatest length.
    """
    return st.one_of(
        st.lists(elements, max_size=12),
        st.lists(elements, min_size=most // 2, max_size=most),
    )
