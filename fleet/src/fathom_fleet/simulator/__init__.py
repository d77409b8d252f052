"""A fleet whose illnesses are known, to try the questions on and to measure how often they are answered right."""

from .scenarios import canary, cpu_family, demo
from .world import Illness, Truth, World
from .writing import write

__all__ = ["Illness", "Truth", "World", "canary", "cpu_family", "demo", "write"]
