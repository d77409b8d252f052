package fathomlab;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * When each request was due and how long it took. Latency counts from when the request was due, not from
 * when it was sent or taken: a stall makes every request late that was due during it.
 * Allocated once, so that the bookkeeping neither allocates nor locks while the service runs.
 */
final class Requests {
    private static final long OPEN = -1;
    private final long[] dueNs;
    private final AtomicLongArray latencyNs;
    private volatile int issued;

    Requests(int capacity) {
        dueNs = new long[capacity];
        latencyNs = new AtomicLongArray(capacity);
    }

    int issue(long due) {
        int request = issued;
        dueNs[request] = due;
        latencyNs.set(request, OPEN);
        issued = request + 1;
        return request;
    }

    void done(int request, long nowNs) {
        latencyNs.set(request, nowNs - dueNs[request]);
    }

    int issued() {
        return issued;
    }

    long dueNs(int request) {
        return dueNs[request];
    }

    boolean isDone(int request) {
        return latencyNs.get(request) != OPEN;
    }

    long doneNs(int request) {
        return dueNs[request] + latencyNs.get(request);
    }

    /** The latency of a finished request, or how long an unfinished one has waited so far. */
    long latencyNs(int request, long nowNs) {
        return isDone(request) ? latencyNs.get(request) : nowNs - dueNs[request];
    }

    int unfinished() {
        int count = 0;
        for (int i = 0; i < issued; i++) {
            count += isDone(i) ? 0 : 1;
        }
        return count;
    }
}
