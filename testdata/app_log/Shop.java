import java.io.PrintWriter;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Instant;
import java.util.Random;
import java.util.concurrent.CountDownLatch;

/**
 * A shop that logs what it does: 40 s of which 10 s are slow. Then a cache answers late, and reads of it time out four times as
 * often. Arguments: the library (jul, slf4j, log4j), and a file for the latencies.
 */
public class Shop {
    static final long START = System.nanoTime();

    interface Log {
        void debug(String text);
        void info(String text);
        void warn(String text, Throwable thrown);
    }

    static Log of(String library) {
        switch (library) {
            case "jul": return Jul.LOG;
            case "log4j": return Log4j.LOG;
            default: return Slf4j.LOG;
        }
    }

    static class Jul {
        static final java.util.logging.Logger OWN = java.util.logging.Logger.getLogger("shop.Orders");
        static final Log LOG = new Log() {
            public void debug(String text) { OWN.fine(text); }
            public void info(String text) { OWN.info(text); }
            public void warn(String text, Throwable thrown) { OWN.log(java.util.logging.Level.WARNING, text, thrown); }
        };
    }

    static class Slf4j {
        static final org.slf4j.Logger OWN = org.slf4j.LoggerFactory.getLogger("shop.Orders");
        static final Log LOG = new Log() {
            public void debug(String text) { OWN.debug(text); }
            public void info(String text) { OWN.info(text); }
            public void warn(String text, Throwable thrown) { OWN.warn(text, thrown); }
        };
    }

    static class Log4j {
        static final org.apache.logging.log4j.Logger OWN = org.apache.logging.log4j.LogManager.getLogger("shop.Orders");
        static final Log LOG = new Log() {
            public void debug(String text) { OWN.debug(text); }
            public void info(String text) { OWN.info(text); }
            public void warn(String text, Throwable thrown) { OWN.warn(text, thrown); }
        };
    }

    static boolean isSlow() {
        long second = (System.nanoTime() - START) / 1_000_000_000;
        return second >= 20 && second < 30;
    }

    public static void main(String[] args) throws Exception {
        Log log = of(args[0]);
        log.info("Shop is open on port 8080");
        // Nothing answers here, so reads of it time out. Connections wait in its queue, which has room for all of them.
        ServerSocket cache = new ServerSocket(0, 4_000);
        CountDownLatch done = new CountDownLatch(4);
        try (PrintWriter latencies = new PrintWriter(args[1])) {
            latencies.println("time,latency_ms");
            for (int worker = 0; worker < 4; worker++) {
                int seed = worker;
                new Thread(() -> {
                    work(log, cache.getLocalPort(), new Random(seed), latencies);
                    done.countDown();
                }, "worker-" + worker).start();
            }
            done.await();
        }
        log.info("Shop is closed");
        System.exit(0);
    }

    static void work(Log log, int port, Random random, PrintWriter latencies) {
        String[] customers = {"alice", "bob", "carol", "dave"};
        long id = 1_000;
        while (System.nanoTime() - START < 40_000_000_000L) {
            Instant began = Instant.now();
            long from = System.nanoTime();
            boolean slow = isSlow();
            if (random.nextInt(100) < (slow ? 16 : 4)) {
                readCache(log, port, slow ? 60 : 15);
            }
            sleep(slow ? 25 : 15);
            log.info("Order " + id++ + " of " + customers[random.nextInt(4)] + " took " + (System.nanoTime() - from) / 1_000_000 + " ms");
            if (random.nextInt(10) == 0) {
                log.info("Stock of product-" + random.nextInt(50) + " is low: " + random.nextInt(5) + " left");
            }
            synchronized (latencies) {
                latencies.println(began + "," + (System.nanoTime() - from) / 1e6);
            }
            sleep(40);
        }
    }

    static void readCache(Log log, int port, int timeout) {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.setSoTimeout(timeout);
            socket.getInputStream().read();
        } catch (SocketTimeoutException timedOut) {
            log.warn("No answer of cache-" + port % 4 + " within " + timeout + " ms", timedOut);
        } catch (java.io.IOException failed) {
            log.warn("Cache failed", failed);
        }
    }

    static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }
}
