import fathomlab.Lab;
import fathomlab.Work;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** A service whose requests need a permit that a job takes away for a moment, again and again. */
public final class SleepingHandlers {
    private static final long AGAIN_MS = 40;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        long heldUs = lab.number("holds_us");
        boolean sleeps = lab.text("waits").equals("asleep");
        Semaphore permit = new Semaphore(1);
        LongAdder sleeping = new LongAdder();
        lab.onPhase("after", () -> Lab.start("job", () -> holdForever(permit, heldUs)));
        lab.onEnd(() -> lab.note("sleeps", sleeping.sum()));
        lab.run(request -> {
            Work.spin(400_000, request);
            while (sleeps ? !permit.tryAcquire() : !acquired(permit)) {
                sleeping.increment();
                TimeUnit.MILLISECONDS.sleep(AGAIN_MS);
            }
            Work.spin(50_000, request);
            permit.release();
        });
    }

    private static boolean acquired(Semaphore permit) throws InterruptedException {
        permit.acquire();
        return true;
    }

    private static void holdForever(Semaphore permit, long heldUs) throws InterruptedException {
        while (true) {
            permit.acquire();
            TimeUnit.MICROSECONDS.sleep(heldUs);
            permit.release();
            TimeUnit.MICROSECONDS.sleep(heldUs);
        }
    }
}
