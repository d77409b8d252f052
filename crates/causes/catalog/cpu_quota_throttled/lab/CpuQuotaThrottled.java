import fathomlab.Lab;
import fathomlab.Work;
import java.util.concurrent.TimeUnit;

/**
 * A service that needs little of a CPU, and a thread beside it that begins to tidy up in the middle of the run: together
 * they need less than the CPUs of the machine, but more than the quota.
 */
public final class CpuQuotaThrottled {
    private static final long ROUND_MS = 10;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int steps = Work.stepsFor(TimeUnit.MICROSECONDS.toNanos(lab.number("work_us")));
        int tidySteps = Work.stepsFor(TimeUnit.MICROSECONDS.toNanos(lab.number("tidy_us_per_round")));
        lab.onPhase("after", () -> Lab.start("housekeeping", () -> tidyUp(tidySteps)));
        lab.run(request -> Work.spin(steps, request));
    }

    /** Works a part of each round, however long it had to wait for it. */
    private static void tidyUp(int steps) throws InterruptedException {
        for (long round = 0; ; round++) {
            long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ROUND_MS);
            Work.spin(steps, round);
            TimeUnit.NANOSECONDS.sleep(until - System.nanoTime());
        }
    }
}
