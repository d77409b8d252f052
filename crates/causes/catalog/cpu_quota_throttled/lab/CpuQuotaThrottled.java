import fathomlab.Lab;
import fathomlab.Work;
import java.util.concurrent.TimeUnit;

/** A service whose requests become dearer; on the whole it needs less than the CPUs of the machine, but more than its quota. */
public final class CpuQuotaThrottled {
    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int usual = Work.stepsFor(TimeUnit.MICROSECONDS.toNanos(lab.number("work_us")));
        int dear = Work.stepsFor(TimeUnit.MICROSECONDS.toNanos(lab.number("dear_work_us")));
        lab.run(request -> Work.spin(lab.in("after") ? dear : usual, request));
    }
}
