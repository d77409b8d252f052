import fathomlab.Lab;
import fathomlab.ToldClients;
import fathomlab.Work;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A service that answers on connections. In the middle of the run the service, or its client, changes its ways.
 */
public final class Answers {
    private static final int HEAD_BYTES = 120;
    private static final int ORDER_BYTES = 8;
    private static final long PAUSES_EACH_MS = 40;

    private final Lab lab;
    private final int port;
    private final AtomicLong inPieces = new AtomicLong();
    private final ToldClients clients;

    private Answers(Lab lab) {
        this.lab = lab;
        port = (int) lab.number("port");
        clients = new ToldClients(port + 1);
    }

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        Answers service = new Answers(lab);
        ServerSocket server = new ServerSocket(service.port, (int) lab.number("backlog"), InetAddress.getLoopbackAddress());
        lab.note("answers_in_pieces", service.inPieces);
        long droppedBefore = droppedByKernel();
        lab.onEnd(() -> {
            stopListening(server);
            lab.note("dropped_by_the_kernel", droppedByKernel() - droppedBefore);
        });
        Lab.start("acceptor", () -> service.acceptUntilClosed(server));
        lab.run(request -> service.letAsk());
    }

    /** Attempts to connect that listening sockets of this network namespace have dropped. */
    private static long droppedByKernel() {
        try {
            List<String> lines = Files.readAllLines(Path.of("/proc/net/netstat"));
            List<String> names = Arrays.asList(lines.get(0).split(" "));
            return Long.parseLong(lines.get(1).split(" ")[names.indexOf("ListenDrops")]);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What is dropped afterwards the recorder would see, but not {@link #droppedByKernel}. */
    private static void stopListening(ServerSocket server) {
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void acceptUntilClosed(ServerSocket server) throws Exception {
        try {
            acceptForever(server);
        } catch (SocketException e) {
            if (!server.isClosed()) {
                throw e;
            }
        }
    }

    private void acceptForever(ServerSocket server) throws Exception {
        long pausedAtMs = 0;
        for (int number = 1; ; number++) {
            Socket socket = server.accept();
            socket.setTcpNoDelay(lab.number("no_delay") == 1);
            Lab.start("server-" + number, () -> serve(socket));
            long nowMs = System.nanoTime() / 1_000_000;
            if (nowMs - pausedAtMs >= PAUSES_EACH_MS) {
                pausedAtMs = nowMs;
                TimeUnit.MILLISECONDS.sleep(lab.number("acceptor_pause_ms"));
            }
        }
    }

    /** A question is the length of its answer. */
    private void serve(Socket socket) throws InterruptedException {
        try (socket) {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            while (true) {
                byte[] answer = new byte[in.readInt()];
                Work.spin(100_000, answer.length);
                if (lab.in("after")) {
                    TimeUnit.MILLISECONDS.sleep(lab.number("thinks_ms"));
                }
                send(socket.getOutputStream(), answer);
            }
        } catch (IOException clientIsGone) {
            // It has all that it wanted.
        }
    }

    private void send(OutputStream out, byte[] answer) throws IOException {
        if (!lab.in("after") || lab.number("pieces") < 2) {
            out.write(answer);
            return;
        }
        inPieces.incrementAndGet();
        out.write(answer, 0, HEAD_BYTES);
        out.write(answer, HEAD_BYTES, answer.length - HEAD_BYTES);
    }

    /** Lets a client ask once and waits until it has the answer. */
    private void letAsk() throws IOException {
        int how = lab.in("after") ? (int) lab.number("client_how") : 0;
        clients.letAsk(ByteBuffer.allocate(ORDER_BYTES).putInt((int) lab.number("answer_bytes")).putInt(how).array());
    }
}
