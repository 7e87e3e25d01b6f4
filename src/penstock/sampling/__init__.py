"""The profile of a stream that is too long to be held: samples of it, and what they tell."""

from .chunk import Plan, Survey, pack, survey, take, unpack
from .describe import describe
from .sketch import Sketch

__all__ = ["Plan", "Sketch", "Survey", "describe", "pack", "survey", "take", "unpack"]
