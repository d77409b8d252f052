"""What benchmarks, experiments, trials and real labs share: finding JDKs, fetching jars, making inputs, measuring, tables."""
