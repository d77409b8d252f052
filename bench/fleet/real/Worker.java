/** Does the same small work twenty times a second, for as long as it is let. What differs is how the JVM was started. */
public final class Worker {
    private static final int PERIOD_MS = 50;
    private static final int STEPS = 60_000;

    public static void main(String[] arguments) throws InterruptedException {
        long sum = 0;
        for (;;) {
            sum += work(STEPS);
            if (sum == 42) {
                System.out.println(sum);
            }
            Thread.sleep(PERIOD_MS);
        }
    }

    private static long work(int steps) {
        long sum = 1;
        for (int step = 0; step < steps; step++) {
            sum = sum * 31 + (sum >>> 7) + step;
        }
        return sum;
    }
}
