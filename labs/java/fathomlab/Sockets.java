package fathomlab;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;

/** The same service for clients of another process: each handler answers one of them, one request after the other. */
final class Sockets {
    private final ServerSocket server;
    private final AtomicInteger requests = new AtomicInteger();

    Sockets(long handlers) throws IOException {
        server = new ServerSocket(0, (int) handlers, InetAddress.getLoopbackAddress());
    }

    /** Requests come as soon as this is read. */
    void tellWhere() {
        System.out.println("listens=" + server.getLocalPort());
    }

    void handleForever(Service service) throws Exception {
        while (true) {
            try (Socket client = server.accept()) {
                client.setTcpNoDelay(true);
                handle(service, client);
            }
        }
    }

    private void handle(Service service, Socket client) throws Exception {
        DataInputStream in = new DataInputStream(client.getInputStream());
        OutputStream out = client.getOutputStream();
        while (true) {
            try {
                in.readInt();
            } catch (IOException hungUp) {
                return;
            }
            service.handle(requests.getAndIncrement());
            out.write(1);
        }
    }
}
