import fathomlab.Lab;
import fathomlab.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A service with a cache of many small objects, in which a "memory saver" begins to call System.gc() by the clock. */
public final class ExplicitGc {
    private static final int ENTRY_BYTES = 48;
    private static final List<byte[]> CACHE = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        long everyMs = lab.number("collect_every_ms");
        for (long bytes = 0; bytes < lab.number("cache_mb") << 20; bytes += ENTRY_BYTES + 16) {
            CACHE.add(new byte[ENTRY_BYTES]);
        }
        moveCacheToTheOldGeneration();
        lab.note("cache_mb", lab.number("cache_mb"));
        lab.note("collect_every_ms", everyMs);
        lab.onPhase("after", () -> collectByTheClock(lab, everyMs));
        lab.run(request -> {
            Work.spin(200_000, request);
            Work.fill(new byte[64 * 1024], request);
        });
    }

    /** A few young collections before the load begins, so that none of them has to copy the cache later. */
    private static void moveCacheToTheOldGeneration() {
        for (int request = 0; request < 40_000; request++) {
            Work.fill(new byte[64 * 1024], request);
        }
    }

    private static void collectByTheClock(Lab lab, long everyMs) {
        AtomicInteger calls = new AtomicInteger();
        lab.note("calls", calls);
        try {
            while (true) {
                calls.incrementAndGet();
                System.gc();
                TimeUnit.MILLISECONDS.sleep(everyMs);
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }
}
