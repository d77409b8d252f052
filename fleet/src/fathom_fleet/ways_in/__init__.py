"""Ways in: each turns files of one kind into Parquet files of `minutes` and `facts`, and says what it could not use."""
