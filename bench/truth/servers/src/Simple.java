// org.simpleframework:simple-http:6.0.1
import java.io.OutputStream;
import java.net.InetSocketAddress;
import org.simpleframework.http.Request;
import org.simpleframework.http.Response;
import org.simpleframework.http.core.Container;
import org.simpleframework.http.core.ContainerSocketProcessor;
import org.simpleframework.transport.connect.SocketConnection;

/** A reactor, and a pool of the container's threads that answer. */
public final class Simple implements Container {
    public static void main(String[] args) throws Exception {
        new SocketConnection(new ContainerSocketProcessor(new Simple(), 16)).connect(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])));
        Thread.currentThread().join();
    }

    @Override
    public void handle(Request request, Response response) {
        try (OutputStream out = response.getOutputStream()) {
            byte[] page = Work.answer(request.getPath().getPath());
            response.setContentLength(page.length);
            out.write(page);
        } catch (Exception failed) {
            response.setCode(500);
        }
    }
}
