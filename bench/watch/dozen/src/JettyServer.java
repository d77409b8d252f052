// org.eclipse.jetty:jetty-server:12.0.16
import java.nio.ByteBuffer;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** One pool whose threads select, accept and answer, in alternation. */
public final class JettyServer extends Handler.Abstract {
    public static void main(String[] args) throws Exception {
        Server server = new Server(new QueuedThreadPool(24));
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        connector.setPort(Integer.parseInt(args[0]));
        server.addConnector(connector);
        server.setHandler(new JettyServer());
        server.start();
        server.join();
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        byte[] page = Work.answer(Request.getPathInContext(request));
        response.getHeaders().put(HttpHeader.CONTENT_LENGTH, page.length);
        response.write(true, ByteBuffer.wrap(page), callback);
        return true;
    }
}
