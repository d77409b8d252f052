import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.jvm.*;
import io.micrometer.core.instrument.binder.system.*;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.instrumentation.jvm.JvmMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.*;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.*;

/** A service with the metrics of two libraries: each request keeps 100 KB for a while, and from second 30 on ten times as much. */
public class Shop {
    static final ArrayDeque<byte[]> kept = new ArrayDeque<>();

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L, sick = System.nanoTime() + 30_000_000_000L;
        var registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        new JvmMemoryMetrics().bindTo(registry);
        new JvmGcMetrics().bindTo(registry);
        new JvmThreadMetrics().bindTo(registry);
        new ClassLoaderMetrics().bindTo(registry);
        new JvmCompilationMetrics().bindTo(registry);
        new ProcessorMetrics().bindTo(registry);
        new FileDescriptorMetrics().bindTo(registry);
        var client = new PrometheusRegistry();
        JvmMetrics.builder().register(client);
        Timer timer = Timer.builder("http.server.requests").tag("uri", "/cart").tag("method", "GET").tag("status", "200").register(registry);
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", 18080), 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/cart", exchange -> timer.record(() -> answer(exchange, work(System.nanoTime() > sick))));
        server.createContext("/micrometer", exchange -> answer(exchange, registry.scrape().getBytes()));
        server.createContext("/client", exchange -> answer(exchange, text(client)));
        server.start();
        var http = HttpClient.newHttpClient();
        var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:18080/cart")).build();
        while (System.nanoTime() < end) {
            http.send(request, HttpResponse.BodyHandlers.discarding());
            Thread.sleep(10);
        }
        System.exit(0);
    }

    static synchronized byte[] work(boolean isSick) {
        for (int i = 0; i < (isSick ? 10 : 1); i++) {
            kept.addLast(new byte[100_000]);
        }
        while (kept.size() > (isSick ? 420 : 100)) {
            kept.removeFirst();
        }
        return "ok".getBytes();
    }

    static byte[] text(PrometheusRegistry registry) {
        try {
            var out = new ByteArrayOutputStream();
            PrometheusTextFormatWriter.create().write(out, registry.scrape());
            return out.toByteArray();
        } catch (IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }

    static void answer(HttpExchange exchange, byte[] bytes) {
        try (exchange) {
            exchange.getResponseHeaders().add("Content-Type", "text/plain; version=0.0.4");
            exchange.sendResponseHeaders(200, bytes.length);
            exchange.getResponseBody().write(bytes);
        } catch (IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }
}
