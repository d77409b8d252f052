import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;

/** An ordinary small service: a request makes garbage, sorts a little, and answers with 2 KB. */
public final class BenchServer {
    private static final int THREADS = 8;
    private static int numbers;

    public static void main(String[] args) throws IOException {
        numbers = Integer.parseInt(args[0]);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 256);
        server.setExecutor(Executors.newFixedThreadPool(THREADS));
        server.createContext("/", BenchServer::answer);
        server.start();
        System.out.println("port " + server.getAddress().getPort() + " pid " + ProcessHandle.current().pid());
    }

    private static void answer(HttpExchange exchange) throws IOException {
        byte[] body = work().getBytes(StandardCharsets.UTF_8);
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
