import java.util.ArrayDeque;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The program that produces the benchmark's GC logs. It allocates in two threads, keeps a little of it for a while,
 * and sometimes allocates something large, so that a tiny heap goes through every kind of collection of its collector.
 * It runs until SIGTERM.
 */
public final class Allocator {
    private static final int KEPT = 4_000;

    private Allocator() {}

    public static void main(String[] args) {
        for (int i = 0; i < 2; i++) {
            new Thread(Allocator::allocate, "allocator-" + i).start();
        }
    }

    private static void allocate() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        ArrayDeque<byte[]> kept = new ArrayDeque<>();
        while (true) {
            int size = random.nextInt(4_000) == 0 ? 600_000 : random.nextInt(16, 600);
            kept.add(new byte[size]);
            if (kept.size() > KEPT || size > 1_000) {
                kept.poll();
                kept.pollLast();
            }
        }
    }
}
