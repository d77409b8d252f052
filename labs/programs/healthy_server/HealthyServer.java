import fathomlab.Lab;
import fathomlab.Work;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A healthy service that does a little of everything: it computes, allocates, looks things up in a bounded cache
 * behind a lock that is held for microseconds, and sometimes collects garbage.
 */
public final class HealthyServer {
    private static final int CACHE_ENTRIES = 20_000;

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<Integer, byte[]> cache = new LinkedHashMap<>(CACHE_ENTRIES, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> eldest) {
            return size() > CACHE_ENTRIES;
        }
    };

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        HealthyServer server = new HealthyServer();
        int garbageKb = (int) lab.number("garbage_kb_per_request");
        lab.run(request -> server.answer(request, garbageKb));
    }

    private void answer(int request, int garbageKb) {
        long mixed = Work.spin(100_000, request);
        int key = (int) (mixed >>> 40) % (2 * CACHE_ENTRIES);
        byte[] page = lookUp(key);
        Map<String, Integer> words = new HashMap<>();
        for (int i = 0; i < garbageKb * 8; i++) {
            words.merge("word" + (page[i % page.length] & 63), 1, Integer::sum);
        }
        Work.fill(page.clone(), words.size());
    }

    private byte[] lookUp(int key) {
        lock.lock();
        try {
            return cache.computeIfAbsent(key, k -> new byte[2048]);
        } finally {
            lock.unlock();
        }
    }
}
