import java.util.concurrent.TimeUnit;

/** Native functions that are called for the first time while the JVM is ill; the properties `library` and `caller` name their libraries. */
final class FirstCalls {
    private static final int FUNCTIONS = 128;
    private static final long EVERY_NS = TimeUnit.MILLISECONDS.toNanos(500);

    private static int called;
    private static long lastNs;

    private static native void call(int number);

    static void load() {
        if (System.getProperty("caller") != null) {
            System.load(System.getProperty("library"));
            System.load(System.getProperty("caller"));
            call(called++);
        }
    }

    /** Now and then, while other requests go on. */
    static void callNext() {
        int number = next();
        if (number < FUNCTIONS) {
            call(number);
        }
    }

    private static synchronized int next() {
        if (System.nanoTime() - lastNs < EVERY_NS) {
            return FUNCTIONS;
        }
        lastNs = System.nanoTime();
        return called++;
    }
}
