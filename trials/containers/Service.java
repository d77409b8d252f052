import com.sun.net.httpserver.HttpServer;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;

/** A service with a client of its own, for as many seconds as its argument says: there is no other in its network namespace. */
public class Service {
    static volatile Object kept;

    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 8080), 50);
        server.createContext("/", exchange -> {
            kept = new byte[200_000];
            exchange.sendResponseHeaders(200, 2);
            exchange.getResponseBody().write(new byte[] {'o', 'k'});
            exchange.close();
        });
        server.start();
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000L;
        while (System.nanoTime() < end) {
            ask();
            Thread.sleep(10);
        }
        server.stop(0);
    }

    static void ask() throws Exception {
        try (Socket socket = new Socket("127.0.0.1", 8080)) {
            socket.getOutputStream().write("GET / HTTP/1.0\r\n\r\n".getBytes());
            InputStream answer = socket.getInputStream();
            while (answer.read() >= 0) {
            }
        }
    }
}
