import fathomlab.Lab;
import java.nio.file.Path;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A service with one worker that takes new memory for each request and touches all of it, first by storing. In the
 * middle of the run it begins to touch it in another way. Or the JVM does so, as the heap grows.
 */
public final class ReadThenWriteFaults {
    private static final String STORE = "store";
    private static final AtomicLong PAGES = new AtomicLong();

    private static native long touch(long bytes, String way);

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        System.load(Path.of(lab.text("library")).toAbsolutePath().toString());
        long bytes = bytesFor(lab.number("work_us") * 1_000);
        String way = lab.text("way");
        if (way.equals("heap")) {
            growHeap(lab);
            return;
        }
        lab.note("bytes_per_request", bytes);
        lab.note("pages", PAGES);
        lab.run(request -> {
            boolean exposed = lab.in("after");
            long pages = touch(bytes, exposed ? way : STORE);
            PAGES.addAndGet(exposed ? pages : 0);
        });
    }

    /** Each request takes memory of the Java heap; in the middle of the run requests begin to keep it, so that the heap grows. */
    private static void growHeap(Lab lab) throws Exception {
        Queue<byte[]> kept = new ConcurrentLinkedQueue<>();
        int bytes = (int) lab.number("kept_kb") << 10;
        lab.onEnd(() -> lab.note("kept_bytes", (long) kept.size() * bytes));
        lab.run(request -> {
            byte[] memory = new byte[bytes];
            if (lab.in("after")) {
                kept.add(memory);
            }
        });
    }

    /** How much memory takes this long to touch by storing on this machine. */
    private static long bytesFor(long wantedNs) {
        long bytes = 16L << 20;
        long fastestNs = Long.MAX_VALUE;
        for (int i = 0; i < 100; i++) {
            long from = System.nanoTime();
            touch(bytes, STORE);
            fastestNs = Math.min(fastestNs, System.nanoTime() - from);
        }
        return (long) ((double) bytes * wantedNs / fastestNs) >> 12 << 12;
    }
}
