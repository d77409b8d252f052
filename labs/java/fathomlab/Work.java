package fathomlab;

import java.util.zip.CRC32;

/** Ordinary work for requests of labs that test something else. */
public final class Work {
    private static volatile long sink;

    private Work() {}

    /** Pure CPU work of constant size: about a nanosecond per step once compiled. */
    public static long spin(int steps, long seed) {
        long x = seed | 1;
        for (int i = 0; i < steps; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        sink = x;
        return x;
    }

    /** How many steps of {@link #spin} take this long on this machine, once compiled. */
    public static int stepsFor(long wantedNs) {
        int steps = 100_000;
        long fastestNs = Long.MAX_VALUE;
        for (int i = 0; i < 2_000; i++) {
            long from = System.nanoTime();
            spin(steps, i);
            fastestNs = Math.min(fastestNs, System.nanoTime() - from);
        }
        return (int) (wantedNs * steps / fastestNs);
    }

    /** Fills a buffer and returns its checksum, so that nothing can be optimised away. */
    public static long fill(byte[] buffer, int seed) {
        for (int i = 0; i < buffer.length; i += 64) {
            buffer[i] = (byte) (seed + i);
        }
        CRC32 crc = new CRC32();
        crc.update(buffer, 0, Math.min(buffer.length, 1024));
        sink = crc.getValue();
        return sink;
    }
}
