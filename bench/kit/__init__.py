"""What the benchmarks share: finding JDKs, fetching peers, making inputs, measuring, and the table."""
