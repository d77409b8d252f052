// org.glassfish.grizzly:grizzly-http-server:4.0.2
import org.glassfish.grizzly.http.server.HttpHandler;
import org.glassfish.grizzly.http.server.HttpServer;
import org.glassfish.grizzly.http.server.Request;
import org.glassfish.grizzly.http.server.Response;

/** Selectors read; a pool of workers answers. */
public final class Grizzly extends HttpHandler {
    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.createSimpleServer(null, "127.0.0.1", Integer.parseInt(args[0]));
        server.getServerConfiguration().addHttpHandler(new Grizzly(), "/");
        server.start();
        Thread.currentThread().join();
    }

    @Override
    public void service(Request request, Response response) throws Exception {
        byte[] page = Work.answer(request.getRequestURI());
        response.setContentLength(page.length);
        response.getOutputStream().write(page);
    }
}
