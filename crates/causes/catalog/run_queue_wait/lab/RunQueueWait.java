import fathomlab.Lab;
import fathomlab.Work;
import java.util.concurrent.TimeUnit;

/** A service that needs a part of the CPUs, all the time the same. */
public final class RunQueueWait {
    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int steps = Work.stepsFor(TimeUnit.MICROSECONDS.toNanos(lab.number("work_us")));
        lab.note("cpus", Runtime.getRuntime().availableProcessors());
        lab.run(request -> Work.spin(steps, request));
    }
}
