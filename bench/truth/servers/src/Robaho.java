// io.github.robaho:httpserver:1.0.29
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import robaho.net.httpserver.DefaultHttpServerProvider;

/** The JDK's interface on another server: a virtual thread for each connection. */
public final class Robaho {
    public static void main(String[] args) throws Exception {
        var server = new DefaultHttpServerProvider().createHttpServer(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 100);
        server.createContext("/", exchange -> {
            try {
                byte[] page = Work.answer(exchange.getRequestURI().getPath());
                exchange.sendResponseHeaders(200, page.length);
                exchange.getResponseBody().write(page);
            } catch (Exception failed) {
                throw new java.io.IOException(failed);
            } finally {
                exchange.close();
            }
        });
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.start();
    }
}
