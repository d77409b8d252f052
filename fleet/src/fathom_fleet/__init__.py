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
from .onset import onset
from .outliers import outliers
from .shared import shared

__all__ = [
    "Answer",
    "Engine",
    "EngineError",
    "Fleet",
    "FleetError",
    "connect",
    "load",
    "of_tables",
    "onset",
    "outliers",
    "shared",
]
