// io.vertx:vertx-core:5.0.12
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;

/** Event loops, each with its part of the connections, and a pool of workers for what may block. */
public final class Vertx extends VerticleBase {
    private static final int LOOPS = 4;

    private final int port;

    private Vertx(int port) {
        this.port = port;
    }

    public static void main(String[] args) {
        int port = Integer.parseInt(args[0]);
        io.vertx.core.Vertx.vertx().deployVerticle(() -> new Vertx(port), new DeploymentOptions().setInstances(LOOPS)).await();
    }

    @Override
    public Future<?> start() {
        return vertx.createHttpServer().requestHandler(this::answer).listen(port, "127.0.0.1");
    }

    private void answer(HttpServerRequest request) {
        vertx.executeBlocking(() -> Work.answer(request.path()), false)
                .onSuccess(page -> request.response().end(Buffer.buffer(page)))
                .onFailure(failed -> request.response().setStatusCode(500).end());
    }
}
