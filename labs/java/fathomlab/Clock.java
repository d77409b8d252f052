package fathomlab;

import java.time.Instant;

/** One pair of readings ties the monotonic clock, which measures, to the wall clock, which the recording speaks. */
public final class Clock {
    private static final long START_NS = System.nanoTime();
    private static final Instant START = Instant.now();

    private Clock() {}

    /** Wall clock time of a monotonic reading, in milliseconds since 1970. */
    public static long epochMs(long nanoTime) {
        return START.plusNanos(nanoTime - START_NS).toEpochMilli();
    }
}
