import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Prices of currencies, and how far each fell lately. That is computed from the prices of all answers of the last seconds: the more
 * often a currency is asked for, the longer each of its answers takes.
 */
public final class Quotes {
    private static final long LATELY_NS = 1_000_000_000L;
    private static final int THREADS = 16;
    private static final Map<String, Deque<Price>> LATEST = new ConcurrentHashMap<>();

    private record Price(long timeNs, double value) {}

    private Quotes() {}

    public static void main(String[] args) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 1_000);
        server.setExecutor(Executors.newFixedThreadPool(THREADS));
        server.createContext("/quote/", Quotes::answer);
        server.start();
        System.out.println(server.getAddress().getPort());
    }

    private static void answer(HttpExchange exchange) throws IOException {
        byte[] answer = quote(exchange.getRequestURI().getPath()).getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(200, answer.length);
        try (var body = exchange.getResponseBody()) {
            body.write(answer);
        }
    }

    private static String quote(String currency) {
        Deque<Price> latest = LATEST.computeIfAbsent(currency, ignored -> new ConcurrentLinkedDeque<>());
        Price now = new Price(System.nanoTime(), 1 + ThreadLocalRandom.current().nextInt(100) / 1e4);
        latest.addLast(now);
        for (Price first = latest.peekFirst(); first != null && now.timeNs - first.timeNs > LATELY_NS; first = latest.peekFirst()) {
            latest.remove(first);
        }
        return now.value + ", largest fall " + largestFall(latest);
    }

    /** Of all pairs of an earlier price and a later one: nobody noticed that the pairs grow with the square of the prices. */
    private static double largestFall(Iterable<Price> latest) {
        double fall = 0;
        for (Price earlier : latest) {
            for (Price later : latest) {
                if (later.timeNs > earlier.timeNs) {
                    fall = Math.max(fall, earlier.value - later.value);
                }
            }
        }
        return fall;
    }
}
