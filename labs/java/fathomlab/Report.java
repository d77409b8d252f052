package fathomlab;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** Prints one line per second about the requests answered in that second, and writes all requests to a file at the end. */
final class Report implements Runnable {
    private final Requests requests;
    private volatile Phase phase;
    private int firstOpen;

    Report(Requests requests) {
        this.requests = requests;
    }

    /**
     * Loads the classes that reporting needs. Loading a class for the first time can invalidate compiled code all over the
     * program. In the middle of a run that would be a second fault.
     */
    static void loadClasses() {
        Report unused = new Report(new Requests(1));
        unused.enter(new Phase("none", 0, 0));
        unused.line(0, 0, 0);
    }

    void enter(Phase next) {
        phase = next;
    }

    @Override
    public void run() {
        long start = System.nanoTime();
        try {
            for (int second = 1; ; second++) {
                long from = start + TimeUnit.SECONDS.toNanos(second - 1);
                long to = start + TimeUnit.SECONDS.toNanos(second);
                TimeUnit.NANOSECONDS.sleep(Math.max(0, to - System.nanoTime()));
                System.out.println(line(second, from, to));
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private String line(int second, long fromNs, long toNs) {
        long[] latencies = answeredIn(fromNs, toNs);
        return String.format(Locale.ROOT, "second=%d time_ms=%d phase=%s requests=%d p50_ms=%.3f p99_ms=%.3f max_ms=%.3f",
                second, Clock.epochMs(fromNs), phase.name, latencies.length,
                quantileMs(latencies, 0.50), quantileMs(latencies, 0.99), quantileMs(latencies, 1));
    }

    private long[] answeredIn(long fromNs, long toNs) {
        int issued = requests.issued();
        long[] found = new long[issued - firstOpen];
        int count = 0;
        for (int i = firstOpen; i < issued; i++) {
            if (requests.isDone(i) && requests.doneNs(i) - fromNs >= 0 && requests.doneNs(i) - toNs < 0) {
                found[count++] = requests.latencyNs(i, toNs);
            }
        }
        while (firstOpen < issued && requests.isDone(firstOpen) && requests.doneNs(firstOpen) - toNs < 0) {
            firstOpen++;
        }
        long[] latencies = Arrays.copyOf(found, count);
        Arrays.sort(latencies);
        return latencies;
    }

    private static double quantileMs(long[] sorted, double quantile) {
        if (sorted.length == 0) {
            return 0;
        }
        int rank = (int) Math.ceil(quantile * sorted.length);
        return sorted[Math.max(0, rank - 1)] / 1e6;
    }

    /** Every request with the time it was due. An unanswered request counts with its wait so far. */
    void writeLatencies(Path file) throws IOException {
        long now = System.nanoTime();
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file))) {
            out.println("time,latency_ms");
            for (int i = 0; i < requests.issued(); i++) {
                out.printf(Locale.ROOT, "%d,%.3f%n", Clock.epochMs(requests.dueNs(i)), requests.latencyNs(i, now) / 1e6);
            }
        }
    }
}
