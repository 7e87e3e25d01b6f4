"""A policy for Penstock in a package of its own."""
