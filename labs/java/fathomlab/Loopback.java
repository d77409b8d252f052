package fathomlab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

/** Servers on loopback that are a process of their own, and how others wait until they are there. */
public final class Loopback {
    private static final int ATTEMPTS = 200;

    private Loopback() {}

    /** What is done for one client, until it hangs up. */
    public interface Session {
        void serve(Socket client) throws IOException, InterruptedException;
    }

    /** Serves each client on a thread of its own, for ever. */
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
            // The client hung up.
        }
    }

    /** A connection for each thread that asks for one, which stays open. */
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

    /** Waits until somebody listens. */
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
