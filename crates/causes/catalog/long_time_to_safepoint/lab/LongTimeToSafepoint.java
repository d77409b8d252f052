import fathomlab.Clock;
import fathomlab.Lab;
import fathomlab.Work;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A background report adds up a table in one counted loop that the compiler leaves without a safepoint poll. Whoever asks
 * for a safepoint meanwhile makes all threads wait for the end of the loop. A monitoring agent that dumps the threads
 * every few milliseconds is what asks, in healthy times too. The program measures each stop by the agent's own call.
 */
public final class LongTimeToSafepoint {
    private static final int[] TABLE = new int[1 << 10];
    private static volatile long sink;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int reports = (int) lab.number("reports");
        long everyMs = lab.number("report_every_ms");
        long loopMs = lab.number("loop_ms");
        int steps = calibrate(loopMs);
        List<Object> stalls = new ArrayList<>();
        lab.note("stalls", stalls);
        lab.note("loop_steps", steps);
        Agent agent = new Agent(lab.number("thread_dump_every_ms"), stalls, lab.number("stall_at_least_ms"));
        Lab.start("monitoring-agent", agent::run);
        List<Object> loops = new ArrayList<>();
        lab.note("loops", loops);
        lab.onPhase("after", () -> reportOften(lab, reports, everyMs, steps, loops));
        lab.run(request -> Work.spin(200_000, request));
    }

    private static void reportOften(Lab lab, int reports, long everyMs, int steps, List<Object> loops) {
        long start = System.nanoTime();
        for (int i = 0; i < reports && lab.in("after"); i++) {
            sleepUntil(start + (i + 1) * everyMs * 1_000_000);
            long from = System.nanoTime();
            sink = report(steps);
            loops.add(row(from, System.nanoTime(), "duration_ms"));
        }
    }

    /** Compiled without a poll inside, unless -XX:+UseCountedLoopSafepoints holds. */
    private static long report(int steps) {
        long sum = 1;
        for (int i = 0; i < steps; i++) {
            sum = sum * 31 + TABLE[i & 1023];
        }
        return sum;
    }

    /** How many steps take as long as wanted, once the loop is compiled by the best compiler. */
    private static int calibrate(long wantedMs) {
        for (int i = 0; i < 300; i++) {
            sink = report(10_000);
        }
        int steps = 1_000_000;
        long fastestNs = Long.MAX_VALUE;
        for (int i = 0; i < 200; i++) {
            long from = System.nanoTime();
            sink = report(steps);
            fastestNs = Math.min(fastestNs, System.nanoTime() - from);
        }
        return (int) Math.min(wantedMs * 1_000_000 * steps / fastestNs, Integer.MAX_VALUE - 1);
    }

    private static Map<String, Object> row(long fromNs, long toNs, String durationName) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("at_ms", Clock.epochMs(fromNs));
        row.put(durationName, (toNs - fromNs) / 1e6);
        return row;
    }

    private static void sleepUntil(long nanoTime) {
        try {
            TimeUnit.NANOSECONDS.sleep(Math.max(0, nanoTime - System.nanoTime()));
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    /** Dumps all threads again and again; a dump needs a safepoint and therefore lasts as long as the stop. */
    private static final class Agent {
        private final long everyMs;
        private final List<Object> stalls;
        private final long stallAtLeastNs;

        Agent(long everyMs, List<Object> stalls, long stallAtLeastMs) {
            this.everyMs = everyMs;
            this.stalls = stalls;
            stallAtLeastNs = stallAtLeastMs * 1_000_000;
        }

        void run() throws InterruptedException {
            while (true) {
                long from = System.nanoTime();
                Thread.getAllStackTraces();
                long to = System.nanoTime();
                if (to - from >= stallAtLeastNs) {
                    stalls.add(row(from, to, "duration_ms"));
                }
                TimeUnit.MILLISECONDS.sleep(everyMs);
            }
        }
    }
}
