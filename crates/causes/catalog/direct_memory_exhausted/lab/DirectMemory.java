import fathomlab.Lab;
import fathomlab.Work;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** A service with a cache of small objects that begins to send its answers through direct buffers: one for each, or its own. */
public final class DirectMemory {
    private static final int ENTRY_BYTES = 48;
    private static final int BUFFER_BYTES = 256 * 1024;
    private static final List<byte[]> CACHE = new ArrayList<>();
    private static final ThreadLocal<ByteBuffer> OWN = ThreadLocal.withInitial(() -> ByteBuffer.allocateDirect(BUFFER_BYTES));

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        for (long bytes = 0; bytes < lab.number("cache_mb") << 20; bytes += ENTRY_BYTES + 16) {
            CACHE.add(new byte[ENTRY_BYTES]);
        }
        moveCacheToTheOldGeneration();
        boolean isKept = lab.text("buffers").equals("kept");
        LongAdder allocated = new LongAdder();
        lab.onEnd(() -> lab.note("direct_mb_allocated", allocated.sum() * BUFFER_BYTES >> 20));
        lab.run(request -> {
            Work.spin(200_000, request);
            if (lab.in("after")) {
                send(isKept ? OWN.get() : allocate(allocated), request);
            }
        });
    }

    /** A few young collections before the load begins, so that none of them has to copy the cache later. */
    private static void moveCacheToTheOldGeneration() {
        for (int request = 0; request < 40_000; request++) {
            Work.fill(new byte[64 * 1024], request);
        }
    }

    private static ByteBuffer allocate(LongAdder allocated) {
        allocated.increment();
        return ByteBuffer.allocateDirect(BUFFER_BYTES);
    }

    private static void send(ByteBuffer buffer, int request) {
        buffer.clear();
        while (buffer.remaining() >= Integer.BYTES * 1024) {
            buffer.putInt(request).position(buffer.position() + Integer.BYTES * 1023);
        }
    }
}
