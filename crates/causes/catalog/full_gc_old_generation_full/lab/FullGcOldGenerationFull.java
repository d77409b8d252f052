import fathomlab.Lab;
import fathomlab.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Keeps a cache that grows in the middle of the run until it almost fills the old generation, while every request makes
 * garbage that dies young. From then on the parallel collector expects that the next young collection would not fit into
 * the old generation, skips it, and collects the whole heap each time eden is full.
 */
public final class FullGcOldGenerationFull {
    /** Small objects: what a collection of the old generation costs is the number of objects it must look at. */
    private static final int ENTRY_BYTES = 64;
    private static final int ENTRIES_PER_MB = 1024 * 1024 / ENTRY_BYTES;

    private static final List<byte[]> CACHE = new ArrayList<>(1 << 22);

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int garbageBytes = (int) lab.number("garbage_kb_per_request") * 1024;
        long liveBefore = lab.number("cache_mb_before");
        long liveAfter = lab.number("cache_mb_after");
        grow(liveBefore);
        lab.onPhase("after", () -> growSlowly(lab, liveAfter, lab.number("growth_ms")));
        lab.note("cache_mb_before", liveBefore);
        lab.note("cache_mb_after", liveAfter);
        lab.note("allocated_kb_per_request", lab.number("garbage_kb_per_request"));
        lab.run(request -> {
            Work.spin(200_000, request);
            answer(garbageBytes, request);
        });
    }

    private static void grow(long toMb) {
        synchronized (CACHE) {
            while (CACHE.size() < toMb * ENTRIES_PER_MB) {
                CACHE.add(new byte[ENTRY_BYTES - 16]);
            }
        }
    }

    private static void growSlowly(Lab lab, long toMb, long durationMs) {
        long fromMb = CACHE.size() / ENTRIES_PER_MB;
        try {
            for (long mb = fromMb + 1; mb <= toMb; mb++) {
                grow(mb);
                TimeUnit.MILLISECONDS.sleep(durationMs / (toMb - fromMb));
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
        lab.note("cache_full_at_ms", System.currentTimeMillis());
    }

    /** Small objects that nobody keeps. */
    private static long answer(int garbageBytes, int request) {
        long sum = 0;
        for (int done = 0; done < garbageBytes; done += 256) {
            byte[] row = new byte[240];
            row[request & 127] = (byte) done;
            sum += row[done & 127];
        }
        return sum;
    }
}
