// tech.smartboot.feat:feat-core:1.0.0
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import tech.smartboot.feat.Feat;
import tech.smartboot.feat.core.server.HttpHandler;
import tech.smartboot.feat.core.server.HttpRequest;

/** Asynchronous channels of its own; what may block is answered by an executor. */
public final class FeatServer implements HttpHandler {
    private final Executor workers = Executors.newFixedThreadPool(24);

    public static void main(String[] args) throws Exception {
        Feat.httpServer().httpHandler(new FeatServer()).listen("127.0.0.1", Integer.parseInt(args[0]));
        Thread.currentThread().join();
    }

    @Override
    public void handle(HttpRequest request, CompletableFuture<Void> whenAnswered) {
        workers.execute(() -> {
            try {
                handle(request);
                whenAnswered.complete(null);
            } catch (Throwable failed) {
                whenAnswered.completeExceptionally(failed);
            }
        });
    }

    @Override
    public void handle(HttpRequest request) throws Throwable {
        byte[] page = Work.answer(request.getRequestURI());
        request.getResponse().setContentLength(page.length);
        request.getResponse().write(page);
    }
}
