package fathomlab;

import java.time.Instant;

/** Relates the monotonic clock, used to measure, to the wall clock, used by the recording, by one pair of readings. */
public final class Clock {
    private static final long START_NS = System.nanoTime();
    private static final Instant START = Instant.now();

    private Clock() {}

    /** Wall clock time of a monotonic reading, in milliseconds since 1970. */
    public static long epochMs(long nanoTime) {
        return START.plusNanos(nanoTime - START_NS).toEpochMilli();
    }
}
