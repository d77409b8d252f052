// net.freeutils:jlhttp:3.2
import java.util.concurrent.Executors;
import net.freeutils.httpserver.HTTPServer;

/** One class: a thread of an executor for each connection. */
public final class Jlhttp {
    public static void main(String[] args) throws Exception {
        HTTPServer server = new HTTPServer(Integer.parseInt(args[0]));
        server.setExecutor(Executors.newFixedThreadPool(64));
        server.setSocketTimeout(60_000);
        server.getVirtualHost(null).addContext("/{*}", (request, response) -> {
            try {
                byte[] page = Work.answer(request.getPath());
                response.sendHeaders(200, page.length, -1, null, "text/plain", null);
                response.getBody().write(page);
                return 0;
            } catch (Exception failed) {
                return 500;
            }
        });
        server.start();
    }
}
