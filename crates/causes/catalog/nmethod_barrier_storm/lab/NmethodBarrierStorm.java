import fathomlab.Copies;
import fathomlab.Lab;
import fathomlab.Work;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A service of many compiled methods, each of which every request enters, in which something begins to collect often. */
public final class NmethodBarrierStorm {
    /** Something that is called through its type, so that no call of it is inlined. */
    public interface Step {
        long apply(long value);
    }

    private static volatile long sink;
    private static volatile byte[] garbage;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        Step[] steps = steps((int) lab.number("methods"));
        for (int round = 0; round < 30_000; round++) {
            sink = run(steps, round, steps.length / 20);
        }
        long everyMs = lab.number("collect_every_ms");
        lab.note("methods", steps.length);
        lab.note("collect_every_ms", everyMs);
        lab.onPhase("after", () -> collect(lab, everyMs));
        lab.run(request -> {
            sink = run(steps, request, steps.length);
            if (lab.in("after")) {
                allocate(lab.number("garbage_mb"));
            }
        });
    }

    private static Step[] steps(int count) throws Exception {
        try {
            return Arrays.copyOf(Copies.of(MethodHandles.lookup(), "Step0000", count), count, Step[].class);
        } catch (Throwable failure) {
            throw new Exception(failure);
        }
    }

    private static long run(Step[] steps, long value, int count) {
        int first = count == steps.length ? 0 : (int) (value % (steps.length - count));
        for (int i = first; i < first + count; i++) {
            value = steps[i].apply(value);
        }
        return value;
    }

    private static void allocate(long mb) {
        for (long i = 0; i < mb; i++) {
            garbage = new byte[1 << 20];
        }
    }

    private static void collect(Lab lab, long everyMs) {
        AtomicInteger calls = new AtomicInteger();
        lab.note("calls", calls);
        try {
            while (everyMs > 0) {
                calls.incrementAndGet();
                System.gc();
                TimeUnit.MILLISECONDS.sleep(everyMs);
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }
}
