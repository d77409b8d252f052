import fathomlab.Lab;
import fathomlab.Work;
import java.util.Arrays;

/**
 * Renders pages. In the middle of the run a larger page becomes popular, and each one is rendered into fresh buffers:
 * the rate of allocation is a multiple of what it was, and so is the number of young collections. The fixed variant
 * renders the same pages into a buffer that each handler keeps.
 */
public final class AllocationPressure {
    private static final int CHUNK_BYTES = 4096;
    /** The sessions of the users: small objects that live for a while and must be copied by each young collection. */
    private static final int SESSIONS = 100_000;

    private static final ThreadLocal<byte[]> KEPT = ThreadLocal.withInitial(() -> new byte[CHUNK_BYTES]);

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int smallKb = (int) lab.number("page_kb_before");
        int largeKb = (int) lab.number("page_kb_after");
        int sessionsPerRequest = (int) lab.number("new_sessions_per_request");
        boolean reuse = lab.text("buffers").equals("kept");
        Object[][] sessions = new Object[SESSIONS][];
        lab.note("page_kb_before", smallKb);
        lab.note("page_kb_after", largeKb);
        lab.note("buffers", lab.text("buffers"));
        lab.run(request -> {
            Work.spin(200_000, request);
            for (int i = 0; i < sessionsPerRequest; i++) {
                int slot = (int) (((long) request * sessionsPerRequest + i) % SESSIONS);
                sessions[slot] = new Object[] {Integer.toString(request), new long[4]};
            }
            render(lab.in("after") ? largeKb : smallKb, reuse, request);
        });
    }

    private static long render(int pageKb, boolean reuse, int request) {
        long checksum = 0;
        for (int done = 0; done < pageKb * 1024; done += CHUNK_BYTES) {
            byte[] chunk = reuse ? cleared(KEPT.get()) : new byte[CHUNK_BYTES];
            checksum += Work.fill(chunk, request + done);
        }
        return checksum;
    }

    private static byte[] cleared(byte[] buffer) {
        Arrays.fill(buffer, (byte) 0);
        return buffer;
    }
}
