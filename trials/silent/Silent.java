import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;

/** A small service. Asked for `/fill`, it fills its heap and makes garbage from then on: collections of all of it, back to back. */
public final class Silent {
    private static final int PIECE_BYTES = 64_000;
    private static final double FULL = 0.62;

    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 64);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", exchange -> {
            byte[] body = Long.toString(work()).getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.createContext("/fill", exchange -> {
            new Thread(Silent::fill, "filler").start();
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        server.start();
        System.out.println(server.getAddress().getPort());
    }

    private static long work() {
        long sum = 0;
        for (int turn = 0; turn < 300_000; turn++) {
            sum += sum * 31 + turn;
        }
        return sum;
    }

    /** Keeps most of the heap, and lets what it makes live just long enough to become old. */
    private static void fill() {
        List<byte[]> kept = new ArrayList<>();
        long most = (long) (Runtime.getRuntime().maxMemory() * FULL);
        for (long bytes = 0; bytes < most; bytes += PIECE_BYTES) {
            kept.add(new byte[PIECE_BYTES]);
        }
        ArrayDeque<byte[]> passing = new ArrayDeque<>();
        int mostPassing = 1;
        while (true) {
            try {
                passing.add(new byte[PIECE_BYTES]);
                mostPassing += passing.size() > mostPassing ? 1 : 0;
            } catch (OutOfMemoryError full) {
                // No call that was never made before: to find what it calls the JVM would need memory.
                mostPassing = passing.size() > 33 ? passing.size() - 32 : 1;
            }
            while (passing.size() > mostPassing) {
                passing.remove();
            }
        }
    }
}
