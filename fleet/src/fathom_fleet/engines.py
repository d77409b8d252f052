"""Connections to the engines. Everything else is written once, as Ibis expressions.

* `duckdb` (the default): inside this process. `duckdb:FILE` keeps its tables in a file.
* `spark:local[2]`, `spark://HOST:PORT`: Apache Spark, where the data outgrow one machine (`pip install 'fathom-fleet[spark]'`).
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import Any

import duckdb as duckdb_library
import ibis

from .scratch import folder_until_exit

SPARK_DRIVER_MEMORY = "4g"
"""1,000 hosts × 2 days took 3.3 GB with everything."""

SPARK_LOCAL_PARTITIONS = "4"
"""Of shuffles, for a local master only: two tasks for each of two cores; Spark's own 200 cost more than they spread."""


class EngineError(Exception):
    """An engine that cannot be used, in one line."""


def is_of_engine(error: Exception) -> bool:
    """Whether an engine raised it: at a page that cannot be unpacked, for example."""
    return isinstance(error, duckdb_library.Error) or type(error).__module__.split(".")[0] in ("pyspark", "py4j")


@dataclass(frozen=True)
class Engine:
    """A connection, and the name of what is behind it."""

    connection: Any
    name: str

    @property
    def is_spark(self) -> bool:
        return self.name == "spark"

    def read_parquet(self, files: list[str]) -> Any:
        """One table of all files; a column that only some have is NULL in the others."""
        if not self.is_spark:
            return self.connection.read_parquet(files, union_by_name=True, hive_partitioning=False)
        frame = self.connection._session.read.option("mergeSchema", "true").parquet(*files)
        name = ibis.util.gen_name("files")
        frame.createOrReplaceTempView(name)
        return self.connection.table(name)


def connect(url: str = "duckdb") -> Engine:
    """The engine that a URL names."""
    scheme, _, rest = url.partition(":")
    if scheme == "duckdb":
        return duckdb(rest.removeprefix("//"))
    if scheme == "spark":
        return spark(url if rest.startswith("//") else rest or "local[2]")
    raise EngineError(f"no engine {url!r}: use duckdb, duckdb:FILE, spark:local[2] or spark://HOST:PORT")


def duckdb(file: str = "") -> Engine:
    connection = ibis.duckdb.connect(file or ":memory:")
    connection.raw_sql("SET TimeZone = 'UTC'")
    # In a notebook without widgets there is no bar, and DuckDB refuses to be told that there is none.
    with contextlib.suppress(duckdb_library.InvalidInputException):
        connection.raw_sql("SET enable_progress_bar = false")
    return Engine(connection, "duckdb")


def spark(master: str) -> Engine:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise EngineError("Spark is not installed: pip install 'fathom-fleet[spark]', and a JDK 17 or later") from None
    builder = SparkSession.builder.appName("fathom-fleet").master(master)
    for key, value in (spark_local_settings() if master.startswith("local") else {}).items():
        builder = builder.config(key, value)
    session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return Engine(ibis.pyspark.connect(session), "spark")


def spark_local_settings() -> dict[str, str]:
    """A local session listens on the loopback interface only and leaves nothing in the current folder."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    scratch = folder_until_exit("fathom-fleet-spark-")
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": os.environ.get("FATHOM_SPARK_MEMORY", SPARK_DRIVER_MEMORY),
        "spark.sql.shuffle.partitions": SPARK_LOCAL_PARTITIONS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch),
        "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home={scratch}",
    }
