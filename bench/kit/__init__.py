"""Shared by benchmarks, experiments, trials and real labs: finding JDKs, fetching jars, making inputs, measuring, tables."""
