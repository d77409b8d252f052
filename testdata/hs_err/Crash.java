import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;

/** Serves for some seconds, and then dies as its argument says. */
public class Crash {
    static volatile long sink;

    static long work() {
        List<byte[]> kept = new ArrayList<>();
        for (int i = 0; i < 2_000; i++) {
            kept.add(new byte[1_024]);
            sink += kept.get(i / 2).length;
        }
        return kept.size();
    }

    static void writeToNull() throws Exception {
        Field field = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
        field.setAccessible(true);
        ((sun.misc.Unsafe) field.get(null)).putAddress(0, 42);
    }

    static void fillTheHeap() {
        List<byte[]> kept = new ArrayList<>();
        while (true) {
            kept.add(new byte[1 << 20]);
        }
    }

    static void serve(String how) {
        long end = System.nanoTime() + 2_500_000_000L;
        while (System.nanoTime() < end) {
            work();
        }
        try {
            switch (how) {
                case "write" -> writeToNull();
                case "heap" -> fillTheHeap();
                case "threads" -> threads();
                default -> Thread.sleep(60_000);
            }
        } catch (Exception exception) {
            throw new IllegalStateException(exception);
        }
    }

    /** As many as the JVM may have memory for. */
    static void threads() throws Exception {
        for (int i = 0; i < 100_000; i++) {
            Thread thread = new Thread(null, () -> { try { Thread.sleep(60_000); } catch (InterruptedException e) { } }, "t" + i, 1 << 20);
            thread.start();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread thread = new Thread(() -> serve(args[0]), "http-worker-3");
        thread.start();
        thread.join();
    }
}
