import com.sun.net.httpserver.HttpServer;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * A service that is healthy for some seconds and then falls ill for a given time: {@code Turning PORT HEALTHY_S
 * ILL_S ILLNESS}. Illnesses: none, lock (all requests need one lock, which each holds for 50 ms), heap (live data fill the old
 * generation), stall (everything waits 150 ms, once), rare (one request in a hundred holds a lock for 50 ms).
 */
public final class Turning {
    private static final int THREADS = 8;
    private static final int ENTRY_BYTES = 64;

    private static final Object LOCK = new Object();
    private static final List<byte[]> CACHE = new ArrayList<>(1 << 22);
    private static volatile String illness = "none";

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 64);
        server.createContext("/", exchange -> {
            byte[] answer = Long.toString(work()).getBytes();
            exchange.sendResponseHeaders(200, answer.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(answer);
            }
        });
        server.setExecutor(Executors.newFixedThreadPool(THREADS));
        grow(90);
        server.start();
        Thread.sleep(Long.parseLong(args[1]) * 1000);
        System.out.println("ill");
        fallIll(args[3], Long.parseLong(args[2]));
        System.out.println("well");
        Thread.sleep(Long.MAX_VALUE);
    }

    private static void fallIll(String name, long seconds) throws InterruptedException {
        illness = name;
        if (name.equals("heap")) {
            grow(185);
        }
        if (name.equals("stall")) {
            synchronized (LOCK) {
                Thread.sleep(150);
            }
        } else {
            Thread.sleep(seconds * 1000);
        }
        illness = "none";
    }

    private static void grow(int toMb) {
        while (CACHE.size() < toMb * (1024 * 1024 / ENTRY_BYTES)) {
            CACHE.add(new byte[ENTRY_BYTES - 16]);
        }
    }

    /** Three milliseconds and some garbage; more when it is ill. */
    private static long work() {
        long sum = 0;
        for (int done = 0; done < 384; done++) {
            byte[] row = new byte[1000];
            row[done] = (byte) done;
            sum += row[(int) (sum & 127)];
        }
        LockSupport.parkNanos(3_000_000);
        boolean isRare = illness.equals("rare") && ThreadLocalRandom.current().nextInt(100) == 0;
        if (isRare || illness.equals("lock")) {
            synchronized (LOCK) {
                LockSupport.parkNanos(50_000_000);
            }
        } else if (illness.equals("stall")) {
            synchronized (LOCK) {
                sum++;
            }
        }
        return sum;
    }
}
