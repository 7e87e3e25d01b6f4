"""Benchmarks: they measure and write JSON; nothing in tests depends on a clock."""
