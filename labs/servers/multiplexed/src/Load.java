import java.io.PrintStream;
import java.nio.file.Path;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.HdrHistogram.ConcurrentHistogram;

/**
 * Requests at random instants, as many independent users send them, by the client library of the server itself. What it counts is the truth
 * that a recording is compared with: how many were sent in each second, and how long they took from their sending on.
 */
final class Load {
    /** Sends one request, and says when its answer has come. */
    interface Sender {
        void send(Runnable whenAnswered) throws Exception;
    }

    /** More under way than this are not sent before others are answered. */
    private static final int MOST_UNDER_WAY = 256;

    private final ConcurrentHistogram tookNs = new ConcurrentHistogram(TimeUnit.MINUTES.toNanos(10), 3);
    private final LongAdder handedOver = new LongAdder();
    private final LongSupplier sent;

    /** Each request that is handed over goes to the server by itself. */
    Load() {
        sent = handedOver::sum;
    }

    /** The client puts several into one; it counts itself what it sent. */
    Load(LongSupplier sent) {
        this.sent = sent;
    }

    /** Writes one line for each second, `end_ms,sent`, and at last the quantiles. */
    void run(Sender sender, double perSecond, double seconds, String truth) throws Exception {
        Semaphore free = new Semaphore(MOST_UNDER_WAY);
        try (PrintStream out = new PrintStream(Path.of(truth).toFile())) {
            long beganNs = System.nanoTime(), dueNs = beganNs, secondNs = beganNs + TimeUnit.SECONDS.toNanos(1);
            long before = sent.getAsLong();
            while (dueNs < beganNs + seconds * 1e9) {
                TimeUnit.NANOSECONDS.sleep(dueNs - System.nanoTime());
                while (System.nanoTime() >= secondNs) {
                    long now = sent.getAsLong();
                    out.println(System.currentTimeMillis() + "," + (now - before));
                    before = now;
                    secondNs += TimeUnit.SECONDS.toNanos(1);
                }
                free.acquire();
                long sentNs = System.nanoTime();
                handedOver.increment();
                sender.send(() -> {
                    tookNs.recordValue(System.nanoTime() - sentNs);
                    free.release();
                });
                dueNs += (long) (-Math.log(1 - ThreadLocalRandom.current().nextDouble()) * 1e9 / perSecond);
            }
            free.acquire(MOST_UNDER_WAY);
            out.printf("quantiles_ms,%.3f,%.3f,%.3f%n", ms(50), ms(99), ms(100));
        }
    }

    private double ms(double percentile) {
        return tookNs.getValueAtPercentile(percentile) / 1e6;
    }
}
