// org.apache.httpcomponents.core5:httpcore5:5.3.4
import java.net.InetAddress;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.HttpException;
import org.apache.hc.core5.http.impl.bootstrap.ServerBootstrap;
import org.apache.hc.core5.http.io.entity.ByteArrayEntity;

/** Blocking input and output, a worker for each connection. */
public final class Core5 {
    public static void main(String[] args) throws Exception {
        ServerBootstrap.bootstrap()
                .setListenerPort(Integer.parseInt(args[0]))
                .setLocalAddress(InetAddress.getLoopbackAddress())
                .register("*", (request, response, context) -> {
                    try {
                        response.setEntity(new ByteArrayEntity(Work.answer(request.getPath()), ContentType.TEXT_PLAIN));
                    } catch (Exception failed) {
                        throw new HttpException("failed", failed);
                    }
                })
                .create()
                .start();
        Thread.currentThread().join();
    }
}
