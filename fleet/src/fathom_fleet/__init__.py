"""Which JVM of a fleet is the outlier, since when, and which fact the sick ones share.

```python
import fathom_fleet as ff

fleet = ff.load("/data/fathom")
ff.outliers(fleet).rows
ff.shared(fleet).says
```
"""

from .answers import Answer
from .engines import Engine, EngineError, connect
from .fleet import Fleet, FleetError, load, of_tables
from .incidents import causes, recurring
from .onset import onset
from .outliers import outliers
from .rollout import rollout, week_against_week
from .shared import shared

__all__ = [
    "Answer",
    "Engine",
    "EngineError",
    "Fleet",
    "FleetError",
    "causes",
    "connect",
    "load",
    "of_tables",
    "onset",
    "outliers",
    "recurring",
    "rollout",
    "shared",
    "week_against_week",
]
