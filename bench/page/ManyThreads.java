import java.util.concurrent.locks.LockSupport;

/** 2,000 pool threads that each run for some milliseconds now and then, for half a minute. */
public class ManyThreads {
    private static final int THREADS = 2_000;
    private static final long LASTS_NS = 30_000_000_000L;

    private static volatile long sum;

    public static void main(String[] args) throws InterruptedException {
        long end = System.nanoTime() + LASTS_NS;
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            threads[i] = new Thread(() -> work(number, end), "pool-1-thread-" + (i + 1));
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void work(int number, long end) {
        while (System.nanoTime() < end) {
            long until = System.nanoTime() + 1_000_000;
            for (long n = number; System.nanoTime() < until; n++) {
                sum += n * n;
            }
            LockSupport.parkNanos(1_000_000_000L + number * 500_000L);
        }
    }
}
