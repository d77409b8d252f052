// com.linecorp.armeria:armeria:1.32.0
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.Server;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Event loops, and the framework's executor for what may block. */
public final class Armeria {
    public static void main(String[] args) {
        Server.builder()
                .http(Integer.parseInt(args[0]))
                .service("glob:/**", (context, request) -> HttpResponse.of(
                        CompletableFuture.supplyAsync(() -> answer(context.path()), context.blockingTaskExecutor())))
                .build()
                .start()
                .join();
    }

    private static HttpResponse answer(String path) {
        try {
            return HttpResponse.of(HttpStatus.OK, MediaType.PLAIN_TEXT_UTF_8, HttpData.wrap(Work.answer(path)));
        } catch (Exception failed) {
            throw new CompletionException(failed);
        }
    }
}
