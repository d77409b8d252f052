import fathomlab.Lab;
import fathomlab.Work;

/** A service that begins to measure each small step of a request. */
public final class SlowClockSource {
    private static volatile long measuredNs;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        long steps = lab.number("steps");
        lab.run(request -> {
            Work.spin(400_000, request);
            if (lab.in("after")) {
                measuredNs = measure(steps);
            }
        });
    }

    private static long measure(long steps) {
        long sum = 0;
        for (long step = 0; step < steps; step++) {
            long from = System.nanoTime();
            sum += System.nanoTime() - from;
        }
        return sum;
    }
}
