import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;

/** An ordinary small service: a request makes garbage, sorts a little, and answers with 2 KB. `/served` returns their number. */
public final class BenchServer {
    private static final int THREADS = 8;
    private static final LongAdder served = new LongAdder();
    private static int numbers;

    public static void main(String[] args) throws IOException {
        numbers = Integer.parseInt(args[0]);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 256);
        server.setExecutor(Executors.newFixedThreadPool(THREADS));
        server.createContext("/", BenchServer::answer);
        server.createContext("/served", exchange -> send(exchange, Long.toString(served.sum())));
        server.start();
        System.out.println("port " + server.getAddress().getPort() + " pid " + ProcessHandle.current().pid());
    }

    private static void answer(HttpExchange exchange) throws IOException {
        served.increment();
        send(exchange, work());
    }

    private static void send(HttpExchange exchange, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private static String work() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        String[] words = new String[numbers];
        for (int index = 0; index < numbers; index++) {
            words[index] = Integer.toString(random.nextInt(10_000));
        }
        java.util.Arrays.sort(words);
        return String.join(" ", words);
    }
}
