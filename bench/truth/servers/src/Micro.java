// org.microhttp:microhttp:0.11
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import org.microhttp.EventLoop;
import org.microhttp.Header;
import org.microhttp.NoopLogger;
import org.microhttp.Options;
import org.microhttp.OptionsBuilder;
import org.microhttp.Response;

/** Event loops that hand requests to an executor. */
public final class Micro {
    public static void main(String[] args) throws Exception {
        Executor workers = Executors.newFixedThreadPool(16);
        Options options = OptionsBuilder.newBuilder().withHost("127.0.0.1").withPort(Integer.parseInt(args[0])).build();
        EventLoop loop = new EventLoop(options, NoopLogger.instance(), (request, respond) -> workers.execute(() -> {
            try {
                respond.accept(new Response(200, "OK", List.of(new Header("Content-Type", "text/plain")), Work.answer(request.uri())));
            } catch (Exception failed) {
                respond.accept(new Response(500, "failed", List.of(), new byte[0]));
            }
        }));
        loop.start();
        loop.join();
    }
}
