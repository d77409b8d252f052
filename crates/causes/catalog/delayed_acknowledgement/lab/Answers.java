import fathomlab.Lab;
import fathomlab.Work;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A service that answers on kept connections. Its clients are another process, which is told by datagrams when to ask and says
 * in the same way when it has the whole answer; so the latency is the client's. In the middle of the run the service, or its
 * client, changes its ways.
 */
public final class Answers {
    private static final int HEAD_BYTES = 120;
    private static final int ORDER_BYTES = 8;
    private static final int PATIENCE_MS = 20_000;

    private final Lab lab;
    private final int port;
    private final AtomicInteger askers = new AtomicInteger();
    private final AtomicLong inPieces = new AtomicLong();
    private final ThreadLocal<Asker> asker = ThreadLocal.withInitial(this::nextAsker);

    private Answers(Lab lab) {
        this.lab = lab;
        port = (int) lab.number("port");
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
        lab.run(request -> service.ask());
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
        for (int number = 1; ; number++) {
            long pauseMs = lab.in("after") ? lab.number("acceptor_pause_ms") : 0;
            TimeUnit.MILLISECONDS.sleep(pauseMs);
            Socket socket = server.accept();
            socket.setTcpNoDelay(lab.number("no_delay") == 1);
            Lab.start("server-" + number, () -> serve(socket));
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

    /**
     * How a client is told. The socket is not connected, or the wait for the client would be a call of another service, which is slow
     * because this one is: real clients ask by themselves.
     */
    private static final class Asker {
        private final DatagramSocket socket;
        private final SocketAddress address;

        private Asker(DatagramSocket socket, SocketAddress address) {
            this.socket = socket;
            this.address = address;
        }
    }

    /** Lets the client ask once and waits until it has the answer. */
    private void ask() throws IOException {
        Asker own = asker.get();
        int how = lab.in("after") ? (int) lab.number("client_how") : 0;
        byte[] order = ByteBuffer.allocate(ORDER_BYTES).putInt((int) lab.number("answer_bytes")).putInt(how).array();
        own.socket.send(new DatagramPacket(order, order.length, own.address));
        own.socket.receive(new DatagramPacket(new byte[ORDER_BYTES], ORDER_BYTES));
    }

    private Asker nextAsker() {
        try {
            DatagramSocket socket = new DatagramSocket();
            socket.setSoTimeout(PATIENCE_MS);
            int number = port + 1 + askers.getAndIncrement();
            return new Asker(socket, new InetSocketAddress(InetAddress.getLoopbackAddress(), number));
        } catch (IOException e) {
            throw new IllegalStateException("no client", e);
        }
    }
}
