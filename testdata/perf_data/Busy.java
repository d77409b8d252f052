import java.util.concurrent.locks.LockSupport;

/** Sums on one thread, waits and touches memory on another. */
public class Busy {
    static volatile long sink;

    static long sum(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum += Integer.bitCount(i) * (sum ^ i);
        }
        return sum;
    }

    static void touch() {
        byte[] bytes = new byte[8 << 20];
        for (int i = 0; i < bytes.length; i += 4_096) {
            bytes[i] = 1;
        }
        sink += bytes[bytes.length / 2];
    }

    public static void main(String[] args) throws Exception {
        Thread waits = new Thread(() -> {
            while (true) {
                LockSupport.parkNanos(20_000_000);
                touch();
            }
        }, "waits");
        waits.setDaemon(true);
        waits.start();
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        while (System.nanoTime() < end) {
            sink += sum(100_000);
        }
    }
}
