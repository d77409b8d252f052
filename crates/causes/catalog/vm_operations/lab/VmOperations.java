import fathomlab.Lab;
import fathomlab.Work;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Handlers answer requests beside a pool of threads that wait deep in their stacks, and an agent dumps them all. The program notes how long it took. */
public final class VmOperations {
    private static final CountDownLatch NEVER = new CountDownLatch(1);
    private static volatile Object sink;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int depth = (int) lab.number("depth");
        for (int i = 0; i < lab.number("threads"); i++) {
            Lab.start("pool-" + i, () -> wait(depth));
        }
        AtomicLong dumps = new AtomicLong();
        lab.note("dumps", dumps);
        lab.onPhase("after", () -> dumpThreads(lab, dumps));
        lab.run(request -> Work.spin(200_000, request));
    }

    private static void wait(int depth) throws InterruptedException {
        if (depth > 0) {
            wait(depth - 1);
        } else {
            NEVER.await();
        }
    }

    private static void dumpThreads(Lab lab, AtomicLong dumps) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        boolean locks = Boolean.parseBoolean(lab.text("locks"));
        try {
            while (lab.in("after")) {
                sink = threads.dumpAllThreads(locks, locks, (int) lab.number("most_frames"));
                dumps.incrementAndGet();
                TimeUnit.MILLISECONDS.sleep(lab.number("dump_every_ms"));
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }
}
