import fathomlab.Lab;
import fathomlab.Work;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;

/** A service that keeps each of its answers for some time, in many small pieces. */
public final class HeapTooSmall {
    private static final int PIECE_BYTES = 128;

    private final Deque<Kept> kept = new ArrayDeque<>();
    private final long keptNs;

    private HeapTooSmall(long keptNs) {
        this.keptNs = keptNs;
    }

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        long before = lab.number("kb_before");
        long after = lab.number("kb_after");
        HeapTooSmall service = new HeapTooSmall(TimeUnit.MILLISECONDS.toNanos(lab.number("kept_ms")));
        lab.run(request -> {
            Work.spin(200_000, request);
            service.keep(lab.in("after") ? after : before);
        });
    }

    private synchronized void keep(long kb) {
        long now = System.nanoTime();
        kept.addLast(new Kept(now, answer(kb)));
        while (now - kept.peekFirst().sinceNs > keptNs) {
            kept.removeFirst();
        }
    }

    private static byte[][] answer(long kb) {
        byte[][] pieces = new byte[(int) (kb * 1024 / PIECE_BYTES)][];
        for (int i = 0; i < pieces.length; i++) {
            pieces[i] = new byte[PIECE_BYTES - 16];
        }
        return pieces;
    }

    /** An answer, and since when it is kept. */
    private static final class Kept {
        final long sinceNs;
        final byte[][] answer;

        Kept(long sinceNs, byte[][] answer) {
            this.sinceNs = sinceNs;
            this.answer = answer;
        }
    }
}
