import com.sun.net.httpserver.HttpServer;
import fathomlab.Lab;
import fathomlab.Service;
import fathomlab.Work;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** Three services whose time goes to different things: CPU and memory, sockets and threads, the disk. */
public final class Services {
    private static final int CACHE_ENTRIES = 20_000;
    private static final int GARBAGE_WORDS = 400;
    private static final int RECORD_BYTES = 4_096;
    private static final int MAX_FILE_BYTES = 8 << 20;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        Service service = of(lab);
        long delayNs = TimeUnit.MICROSECONDS.toNanos(lab.number("delay_us"));
        lab.run(request -> {
            service.handle(request);
            long untilNs = System.nanoTime() + delayNs;
            while (System.nanoTime() - untilNs < 0) {
                Thread.onSpinWait();
            }
        });
    }

    private static Service of(Lab lab) throws IOException {
        return switch (lab.text("service")) {
            case "computes" -> computes();
            case "talks" -> talks();
            case "stores" -> stores(Path.of(lab.text("out"), "records"));
            default -> throw new IllegalArgumentException(lab.text("service"));
        };
    }

    /** Computes, makes garbage, and looks up in a cache behind a lock. */
    private static Service computes() {
        Map<Integer, byte[]> cache = new LinkedHashMap<>(CACHE_ENTRIES, 0.75f, true) {
            private static final long serialVersionUID = 1;

            @Override
            protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> eldest) {
                return size() > CACHE_ENTRIES;
            }
        };
        return request -> {
            long mixed = Work.spin(500_000, request);
            byte[] page;
            synchronized (cache) {
                page = cache.computeIfAbsent((int) (mixed >>> 40) % (2 * CACHE_ENTRIES), key -> new byte[2048]);
            }
            Map<String, Integer> words = new HashMap<>();
            for (int i = 0; i < GARBAGE_WORDS; i++) {
                words.merge("word" + (page[i] + i & 63), 1, Integer::sum);
            }
            Work.fill(page.clone(), words.size());
        };
    }

    /** Asks an HTTP server of the same JVM, which answers by other threads. */
    private static Service talks() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", exchange -> {
            StringBuilder text = new StringBuilder();
            for (int line = 0; line < 200; line++) {
                text.append("{\"line\":").append(line).append("},");
            }
            byte[] body = text.toString().getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        URL url = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/").toURL();
        return request -> {
            HttpURLConnection connection = (HttpURLConnection) url.openConnection();
            try (InputStream answer = connection.getInputStream()) {
                Work.fill(answer.readAllBytes(), request);
            }
        };
    }

    /** Appends a record and waits until the disk has it; one at a time. */
    private static Service stores(Path path) throws IOException {
        FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE);
        return request -> {
            ByteBuffer record = ByteBuffer.allocate(RECORD_BYTES);
            synchronized (file) {
                file.write(record, (long) request * RECORD_BYTES % MAX_FILE_BYTES);
                file.force(false);
            }
        };
    }
}
