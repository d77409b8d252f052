/** A neighbour that takes every CPU it can get: several threads for each, which never wait. */
public final class Hogs {
    private static volatile long sink;

    public static void main(String[] args) {
        int threads = Runtime.getRuntime().availableProcessors() * Integer.parseInt(args[0]);
        for (int i = 0; i < threads; i++) {
            new Thread(Hogs::spin, "hog-" + i).start();
        }
    }

    private static void spin() {
        long x = System.nanoTime() | 1;
        while (true) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
            sink = x;
        }
    }
}
