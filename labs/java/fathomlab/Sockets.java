package fathomlab;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The same service for clients in another process, built like a web server: one thread waits for requests on all connections, a
 * handler reads and answers each request. A connection has one request at a time. There are more connections than handlers.
 */
final class Sockets {
    private static final int REQUEST_BYTES = 4;

    private final Selector selector = Selector.open();
    private final ServerSocketChannel server = ServerSocketChannel.open();
    private final BlockingQueue<SelectionKey> ready = new LinkedBlockingQueue<>();
    private final AtomicInteger begun = new AtomicInteger();
    private final AtomicInteger answered = new AtomicInteger();

    Sockets() throws IOException {
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        server.configureBlocking(false);
        server.register(selector, SelectionKey.OP_ACCEPT);
    }

    /** Clients send requests as soon as they have read this. */
    void tellWhere() {
        System.out.println("listens=" + server.socket().getLocalPort());
    }

    int begun() {
        return begun.get();
    }

    int unanswered() {
        return begun.get() - answered.get();
    }

    void pollForever() throws IOException {
        while (true) {
            selector.select();
            for (SelectionKey key : selector.selectedKeys()) {
                if (key.isAcceptable()) {
                    accept();
                } else {
                    // The selector ignores it until it is answered.
                    key.interestOps(0);
                    ready.add(key);
                }
            }
            selector.selectedKeys().clear();
        }
    }

    private void accept() throws IOException {
        SocketChannel client = server.accept();
        client.configureBlocking(false);
        client.setOption(StandardSocketOptions.TCP_NODELAY, true);
        client.register(selector, SelectionKey.OP_READ);
    }

    void handleForever(Service service) throws Exception {
        ByteBuffer buffer = ByteBuffer.allocateDirect(REQUEST_BYTES);
        while (true) {
            SelectionKey key = ready.take();
            SocketChannel client = (SocketChannel) key.channel();
            if (!isRead(client, buffer)) {
                client.close();
                continue;
            }
            service.handle(begun.getAndIncrement());
            buffer.limit(1).position(0);
            client.write(buffer);
            answered.incrementAndGet();
            key.interestOps(SelectionKey.OP_READ);
            selector.wakeup();
        }
    }

    /** Whether a request arrived, rather than the end of the stream. A client writes all of it at once. */
    private static boolean isRead(ReadableByteChannel client, ByteBuffer buffer) {
        buffer.clear();
        try {
            return client.read(buffer) == REQUEST_BYTES;
        } catch (IOException hungUp) {
            return false;
        }
    }
}
