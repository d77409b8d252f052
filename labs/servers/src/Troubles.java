import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Faults inside the shop, switched on by request. */
final class Troubles {
    private static final int DIRECT_BYTES = 512 * 1024;
    private static final int FRAMES = 60;

    private final Object catalogue = new Object();
    private final ExecutorService enrichment = Executors.newFixedThreadPool(2, task -> {
        Thread thread = new Thread(task, "enrichment");
        thread.setDaemon(true);
        return thread;
    });
    private final List<byte[]> kept = new ArrayList<>();
    private final int pricesPort;
    private volatile String name = "";
    private volatile Object sent;

    Troubles(int pricesPort) {
        this.pricesPort = pricesPort;
        // A cache, as in real services: it makes full collections expensive.
        for (int i = 0; i < 1_000_000; i++) {
            kept.add(new byte[48]);
        }
    }

    void begin(String which) {
        name = which;
    }

    /** Whether this request loses its connection. */
    boolean forgetsToGiveBack(int id) {
        return name.equals("leaked_connections") && id % 10 == 0;
    }

    void suffer(int id) throws Exception {
        switch (name) {
            case "lock" -> underTheLock();
            case "fan_out" -> fanOut(id);
            case "exceptions" -> parseBelow(FRAMES, "n/a", 1_500);
            case "direct_memory" -> sent = ByteBuffer.allocateDirect(DIRECT_BYTES);
            case "garbage" -> sent = garbage();
            default -> { }
        }
    }

    /** A catalogue that is reloaded for each request, by one thread at a time. */
    private void underTheLock() throws InterruptedException {
        synchronized (catalogue) {
            TimeUnit.MILLISECONDS.sleep(9);
        }
    }

    /** Eight prices instead of one, through an executor sized for one. */
    private void fanOut(int id) throws Exception {
        List<Callable<Integer>> asks = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            int item = id + i;
            asks.add(() -> Prices.ask(pricesPort, item));
        }
        for (Future<Integer> price : enrichment.invokeAll(asks)) {
            price.get();
        }
    }

    private static int parseBelow(int frames, String text, int times) {
        if (frames > 0) {
            return parseBelow(frames - 1, text, times);
        }
        int failed = 0;
        for (int i = 0; i < times; i++) {
            try {
                Integer.parseInt(text);
            } catch (NumberFormatException notANumber) {
                failed++;
            }
        }
        return failed;
    }

    /** Each page is dropped before the next is made: this makes garbage, but does not fill the heap. */
    private static byte[] garbage() {
        byte[] page = new byte[0];
        for (int i = 0; i < 200; i++) {
            page = new byte[100_000 + page.length % 2];
        }
        return page;
    }
}
