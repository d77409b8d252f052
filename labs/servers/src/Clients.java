import java.io.InputStream;
import java.io.PrintStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The shop's clients: requests at random instants, whether or not earlier ones were answered. Writes each latency from when it was due and when it was sent. */
public final class Clients {
    public static void main(String[] args) throws Exception {
        String port = args[0];
        double perSecond = Double.parseDouble(args[1]);
        long endNs = System.nanoTime() + (long) (Double.parseDouble(args[2]) * 1e9);
        ExecutorService clients = Executors.newFixedThreadPool(256);
        Random random = new Random(5);
        AtomicInteger failed = new AtomicInteger();
        try (PrintStream out = new PrintStream(Path.of(args[3]).toFile())) {
            out.println("start_ms,duration_ms,asked_ms");
            long due = System.nanoTime();
            for (int id = 1; due < endNs; id++) {
                int item = id;
                long at = due;
                TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
                clients.execute(() -> ask(port, item, at, out, failed));
                due += (long) (-Math.log(1 - random.nextDouble()) / perSecond * 1e9);
            }
            clients.shutdown();
            clients.awaitTermination(5, TimeUnit.SECONDS);
        }
        System.exit(0);
    }

    private static void ask(String port, int id, long due, PrintStream out, AtomicInteger failed) {
        long asked = System.nanoTime();
        try {
            URI uri = URI.create("http://127.0.0.1:" + port + "/order?id=" + id);
            HttpURLConnection request = (HttpURLConnection) uri.toURL().openConnection();
            try (InputStream answer = request.getResponseCode() < 400 ? request.getInputStream() : request.getErrorStream()) {
                answer.readAllBytes();
            }
        } catch (Exception failure) {
            failed.incrementAndGet();
        }
        long tookNs = System.nanoTime() - due;
        double askedMs = (due + tookNs - asked) / 1_000 / 1_000.0;
        out.println((System.currentTimeMillis() - tookNs / 1_000_000) + "," + tookNs / 1_000 / 1_000.0 + "," + askedMs);
    }
}
