"""Fleets that many tests look at, simulated once."""

from pathlib import Path

import pytest

import fathom_fleet as ff
from fathom_fleet import simulator
from fathom_fleet.simulator import Illness, World


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory):
    """A function that simulates and loads a world."""

    def load(world: World) -> ff.Fleet:
        folder = tmp_path_factory.mktemp("fleet")
        simulator.write(world, folder)
        return ff.load(str(folder))

    return load


@pytest.fixture(scope="session")
def demo(loaded) -> tuple[World, ff.Fleet]:
    world = simulator.demo()
    return world, loaded(world)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder of twelve hosts and an hour."""
    world = World(hosts=12, days=1, roles=1, facts=300, illness=Illness(1.0, 3))
    simulator.write(world, tmp_path)
    return tmp_path
