package fathomlab;

import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * The clients. Requests arrive at random instants (exponential gaps, fixed seed) whether or not earlier ones have been
 * answered, as with many independent users. If this thread itself was stopped, it catches up at once, and the
 * requests keep their due times.
 */
final class Arrivals implements Runnable {
    /** Sleeps are shorter than the shortest park that recordings keep, so that the clients do not fill the file. */
    private static final long LONGEST_NAP_NS = 900_000;

    private final Phase[] phases;
    private final Requests requests;
    private final BlockingQueue<Integer> queue;
    private final Consumer<Phase> onPhase;
    private final Random random = new Random(23);

    Arrivals(Phase[] phases, Requests requests, BlockingQueue<Integer> queue, Consumer<Phase> onPhase) {
        this.phases = phases;
        this.requests = requests;
        this.queue = queue;
        this.onPhase = onPhase;
    }

    @Override
    public void run() {
        long phaseStart = System.nanoTime();
        for (int p = 0; p < phases.length; p++) {
            Phase phase = phases[p];
            phase.fromMs = Clock.epochMs(phaseStart);
            onPhase.accept(phase);
            long phaseEnd = phaseStart + (long) (phase.seconds * 1e9);
            sendUntil(phaseStart, phaseEnd, p);
            phase.toMs = Clock.epochMs(phaseEnd);
            phaseStart = phaseEnd;
        }
    }

    private void sendUntil(long phaseStart, long phaseEnd, int phase) {
        long due = phaseStart + gapNs(phase);
        while (due - phaseEnd < 0) {
            waitUntil(due);
            // The queue is as large as the number of requests of the whole run: add never fails.
            queue.add(requests.issue(due));
            due += gapNs(phase);
        }
        waitUntil(phaseEnd);
    }

    private long gapNs(int phase) {
        return (long) (-Math.log(1 - random.nextDouble()) / phases[phase].requestsPerSecond * 1e9);
    }

    private static void waitUntil(long nanoTime) {
        long left = nanoTime - System.nanoTime();
        while (left > 0) {
            LockSupport.parkNanos(Math.min(left, LONGEST_NAP_NS));
            left = nanoTime - System.nanoTime();
        }
    }
}
