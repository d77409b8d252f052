import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Requests at random instants, whether or not earlier ones were answered, and how long each took from the instant at which it was due. */
public final class Asker {
    private static final int AT_ONCE = 48;
    private static final ThreadLocal<Connection> CONNECTIONS = new ThreadLocal<>();

    /** Words: port, requests a second, file of the record. */
    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        ExecutorService askers = Executors.newFixedThreadPool(AT_ONCE);
        send(Double.parseDouble(args[1]), args[2], () -> CompletableFuture.runAsync(() -> ask(port), askers));
    }

    /**
     * Starts requests for ever, so many a second, and records `due_ms,took_us` of each. A file `rate` in the folder is another number from
     * then on.
     */
    static void send(double perSecond, String record, Supplier<? extends CompletionStage<?>> request) throws Exception {
        PrintStream out = new PrintStream(Path.of(record).toFile());
        Path other = Path.of("rate");
        double rate = perSecond;
        long dueNs = System.nanoTime();
        long offsetNs = System.currentTimeMillis() * 1_000_000 - System.nanoTime();
        for (long sent = 0; ; sent++) {
            TimeUnit.NANOSECONDS.sleep(dueNs - System.nanoTime());
            long due = dueNs;
            request.get().whenComplete((answer, failure) ->
                    out.println((due + offsetNs) / 1_000_000 + "," + (System.nanoTime() - due) / 1000 + (failure == null ? "" : ",failed")));
            rate = sent % 20 == 0 && Files.exists(other) ? Double.parseDouble(Files.readString(other).strip()) : rate;
            dueNs += (long) (-Math.log(1 - ThreadLocalRandom.current().nextDouble()) * 1e9 / rate);
        }
    }

    private static void ask(int port) {
        try {
            if (!askedAgain()) {
                askedOver(new Connection(port));
            }
        } catch (IOException failed) {
            CONNECTIONS.remove();
            throw new UncheckedIOException(failed);
        }
    }

    /** Over the connection of the request before, which the server may have closed. */
    private static boolean askedAgain() {
        Connection kept = CONNECTIONS.get();
        try {
            return kept != null && askedOver(kept);
        } catch (IOException closed) {
            return false;
        }
    }

    private static boolean askedOver(Connection connection) throws IOException {
        CONNECTIONS.set(connection.ask() ? connection : null);
        return true;
    }

    /** One connection that is used again as long as the server leaves it open. */
    private static final class Connection {
        private final Socket socket;
        private final InputStream in;

        Connection(int port) throws IOException {
            socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setTcpNoDelay(true);
            in = new BufferedInputStream(socket.getInputStream());
        }

        /** Whether the connection may be used again. */
        boolean ask() throws IOException {
            String path = "/item/" + ThreadLocalRandom.current().nextInt(1000);
            socket.getOutputStream().write(("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
            if (!line().contains(" 200")) {
                throw new IOException("another status");
            }
            int length = -1;
            boolean keep = true, chunked = false;
            for (String header = line().toLowerCase(); !header.isEmpty(); header = line().toLowerCase()) {
                length = header.startsWith("content-length:") ? Integer.parseInt(header.substring(15).strip()) : length;
                chunked |= header.startsWith("transfer-encoding: chunked");
                keep &= !header.equals("connection: close");
            }
            return body(length, chunked) && keep || closed();
        }

        private boolean body(int length, boolean chunked) throws IOException {
            if (chunked) {
                for (int size = size(); ; size = size()) {
                    in.readNBytes(size + 2);
                    if (size == 0) {
                        return true;
                    }
                }
            }
            if (length < 0) {
                in.readAllBytes();
                return false;
            }
            in.readNBytes(length);
            return true;
        }

        private int size() throws IOException {
            return Integer.parseInt(line().split(";")[0].strip(), 16);
        }

        private boolean closed() throws IOException {
            socket.close();
            return false;
        }

        private String line() throws IOException {
            StringBuilder line = new StringBuilder();
            for (int next; (next = in.read()) != '\n'; ) {
                if (next < 0) {
                    throw new IOException("closed");
                }
                line.append((char) next);
            }
            return line.toString().strip();
        }
    }
}
