import fathomlab.Lab;
import fathomlab.Work;
import java.util.concurrent.ThreadLocalRandom;

/** Looks something up in a large cache on the heap for each request. The heap is in memory until the limit is lowered. */
public final class SwapIn {
    private static final int ENTRY_BYTES = 4096;

    private SwapIn() {}

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        byte[][] cache = new byte[(int) lab.number("cache_mb") * (1 << 20) / ENTRY_BYTES][ENTRY_BYTES];
        for (int i = 0; i < cache.length; i++) {
            Work.fill(cache[i], i);
        }
        // Old from now on: no young collection will touch it.
        System.gc();
        lab.run(request -> {
            Work.spin(100_000, request);
            byte[] entry = cache[ThreadLocalRandom.current().nextInt(cache.length)];
            Work.spin(1, entry[ENTRY_BYTES / 2]);
        });
    }
}
