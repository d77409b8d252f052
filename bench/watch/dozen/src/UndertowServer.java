// io.undertow:undertow-core:2.3.18.Final
import io.undertow.Undertow;
import io.undertow.server.handlers.BlockingHandler;
import java.nio.ByteBuffer;

/** I/O threads of XNIO, and its workers for blocking tasks. */
public final class UndertowServer {
    public static void main(String[] args) {
        Undertow.builder()
                .addHttpListener(Integer.parseInt(args[0]), "127.0.0.1")
                .setIoThreads(2)
                .setWorkerThreads(16)
                .setHandler(new BlockingHandler(exchange -> exchange.getResponseSender().send(ByteBuffer.wrap(Work.answer(exchange.getRequestPath())))))
                .build()
                .start();
    }
}
