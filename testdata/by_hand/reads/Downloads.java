import java.io.*;
import java.net.*;
import java.util.concurrent.*;

/** Four threads download objects of 40 KB from a server in another JVM; from second 12 on they read 42 bytes at a time. */
public class Downloads {
    static final int BYTES = 40_000;

    public static void main(String[] args) throws Exception {
        if (args[0].equals("server")) {
            serve();
        } else {
            download();
        }
    }

    static void serve() throws IOException {
        byte[] object = new byte[BYTES];
        try (ServerSocket server = new ServerSocket(28499, 50, InetAddress.getLoopbackAddress())) {
            while (true) {
                Socket socket = server.accept();
                new Thread(() -> {
                    try (socket) {
                        socket.setTcpNoDelay(true);
                        while (socket.getInputStream().read() >= 0) {
                            socket.getOutputStream().write(object);
                        }
                    } catch (IOException ended) {
                        // The client is gone.
                    }
                }).start();
            }
        }
    }

    static void download() throws Exception {
        long beginNs = System.nanoTime();
        try (PrintWriter latencies = new PrintWriter("latency.csv")) {
            latencies.println("time_ms,latency_ms");
            var threads = Executors.newScheduledThreadPool(4, task -> new Thread(task, "download"));
            ThreadLocal<Socket> kept = ThreadLocal.withInitial(Downloads::connect);
            Runnable one = () -> {
                long atMs = System.currentTimeMillis(), fromNs = System.nanoTime();
                boolean small = fromNs - beginNs > 12_000_000_000L;
                read(kept.get(), small ? 42 : 65_536);
                double ms = (System.nanoTime() - fromNs) / 1e6;
                synchronized (latencies) {
                    latencies.println(atMs + "," + ms);
                }
            };
            for (int thread = 0; thread < 4; thread++) {
                threads.scheduleAtFixedRate(one, thread * 50, 200, TimeUnit.MILLISECONDS);
            }
            Thread.sleep(24_000);
            threads.shutdownNow();
            threads.awaitTermination(5, TimeUnit.SECONDS);
        }
        System.exit(0);
    }

    static Socket connect() {
        try {
            Socket socket = new Socket(InetAddress.getLoopbackAddress(), 28499);
            socket.setTcpNoDelay(true);
            return socket;
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    static void read(Socket socket, int buffer) {
        try {
            socket.getOutputStream().write(1);
            byte[] piece = new byte[buffer];
            for (int read = 0; read < BYTES; ) {
                read += socket.getInputStream().read(piece);
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}
