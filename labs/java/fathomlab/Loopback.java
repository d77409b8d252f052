package fathomlab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

/** Servers on loopback in their own process, and how others wait until they are ready. */
public final class Loopback {
    private static final int ATTEMPTS = 200;

    private Loopback() {}

    /** Serves one client until it disconnects. */
    public interface Session {
        void serve(Socket client) throws IOException, InterruptedException;
    }

    /** Serves each client on its own thread, forever. */
    public static void serve(int port, Session session) throws IOException {
        ServerSocket server = new ServerSocket(port, 100, InetAddress.getLoopbackAddress());
        while (true) {
            Socket client = server.accept();
            client.setTcpNoDelay(true);
            Thread thread = new Thread(() -> untilHungUp(session, client));
            thread.setDaemon(true);
            thread.start();
        }
    }

    private static void untilHungUp(Session session, Socket client) {
        try (Socket served = client) {
            session.serve(served);
        } catch (IOException | InterruptedException end) {
            // The client disconnected.
        }
    }

    /** One connection per thread, which stays open. */
    public static ThreadLocal<Socket> connections(int port) {
        return ThreadLocal.withInitial(() -> {
            try {
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
                socket.setTcpNoDelay(true);
                return socket;
            } catch (IOException refused) {
                throw new UncheckedIOException(refused);
            }
        });
    }

    /** Waits until the port is open. */
    public static void await(int port) throws IOException, InterruptedException {
        for (int attempt = 0; ; attempt++) {
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                return;
            } catch (IOException refused) {
                if (attempt == ATTEMPTS) {
                    throw refused;
                }
                TimeUnit.MILLISECONDS.sleep(50);
            }
        }
    }
}
