import com.sun.net.httpserver.HttpServer;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * A service that is healthy all night: {@code Night PORT}. It looks things up behind a lock, calls another service (a sleep of a
 * few milliseconds, rarely of thirty), computes a little and makes garbage. {@code Night batch EVERY_S FOR_S} gets no requests: a job
 * sorts and allocates on one thread for some seconds, and rests.
 */
public final class Night {
    private static final int THREADS = 8;
    private static final int ENTRIES = 20_000;

    private static final Map<Integer, byte[]> CACHE = new LinkedHashMap<Integer, byte[]>(ENTRIES, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> eldest) {
            return size() > ENTRIES;
        }
    };

    public static void main(String[] args) throws Exception {
        if (args[0].equals("batch")) {
            work(Long.parseLong(args[1]), Long.parseLong(args[2]));
        }
        InetAddress local = InetAddress.getLoopbackAddress();
        HttpServer server = HttpServer.create(new InetSocketAddress(local, Integer.parseInt(args[0])), 64);
        server.createContext("/", exchange -> {
            byte[] answer = Long.toString(answer()).getBytes();
            exchange.sendResponseHeaders(200, answer.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(answer);
            }
        });
        server.setExecutor(Executors.newFixedThreadPool(THREADS));
        server.start();
    }

    private static long answer() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        byte[] found;
        synchronized (CACHE) {
            found = CACHE.computeIfAbsent(random.nextInt(2 * ENTRIES), key -> new byte[1000]);
        }
        boolean isSlow = random.nextInt(200) == 0;
        LockSupport.parkNanos((long) ((isSlow ? 30 : 2) * 1_000_000 * (0.7 + 0.6 * random.nextDouble())));
        long sum = 0;
        for (int i = 0; i < 100; i++) {
            byte[] copy = found.clone();
            Arrays.fill(copy, (byte) i);
            sum += copy[i];
        }
        return sum;
    }

    private static void work(long everyS, long forS) throws InterruptedException {
        while (true) {
            long until = System.nanoTime() + forS * 1_000_000_000L;
            while (System.nanoTime() - until < 0) {
                int[] numbers = ThreadLocalRandom.current().ints(200_000).toArray();
                Arrays.sort(numbers);
            }
            Thread.sleep((everyS - forS) * 1000);
        }
    }
}
