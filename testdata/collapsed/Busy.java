import java.util.*;

/** Two threads that sort and hash, and one that allocates. */
public class Busy {
    static volatile Object kept;

    public static void main(String[] arguments) throws Exception {
        Thread[] threads = {
            new Thread(Busy::sort, "sorter-1"), new Thread(Busy::sort, "sorter-2"), new Thread(Busy::text, "writer-1")
        };
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
    }

    static void sort() {
        Random random = new Random(1);
        long until = System.nanoTime() + 4_000_000_000L;
        while (System.nanoTime() < until) {
            int[] values = random.ints(20_000).toArray();
            Arrays.sort(values);
            kept = values;
        }
    }

    static void text() {
        long until = System.nanoTime() + 4_000_000_000L;
        while (System.nanoTime() < until) {
            Map<String, Integer> counts = new TreeMap<>();
            for (int i = 0; i < 2_000; i++) counts.merge("key " + i % 300, 1, Integer::sum);
            kept = counts;
            try { Thread.sleep(1); } catch (InterruptedException e) { return; }
        }
    }
}
