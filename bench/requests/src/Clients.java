import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.Socket;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.HdrHistogram.ConcurrentHistogram;

/**
 * Users who wait for each answer and then pause: `PROTOCOL PORT FOLDER SECONDS`. After the warm-up they wait for the file `go`. What they
 * measure after that is written to the file `truth`: count, median, 99th percentile and longest, in ns.
 */
public final class Clients {
    static final MethodDescriptor<byte[], byte[]> GET = MethodDescriptor.<byte[], byte[]>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("fathom.Bench/Get")
            .setRequestMarshaller(new Bytes())
            .setResponseMarshaller(new Bytes())
            .build();
    private static final int WARM_S = 6;
    private static final double MEAN_PAUSE_MS = 15;
    private static final byte[] REQUEST = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] LAST_REQUEST =
            "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    /** What one user does for one request. */
    interface Ask {
        void once() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        int users = args[0].equals("many") ? 1_000 : 16;
        double pauseMs = MEAN_PAUSE_MS * users / 16;
        ConcurrentHistogram tookNs = new ConcurrentHistogram(TimeUnit.MINUTES.toNanos(1), 3);
        Callable<Ask> user = user(args[0], Integer.parseInt(args[1]), args[2]);
        List<Ask> all = new ArrayList<>();
        for (int number = 0; number < users; number++) {
            all.add(user.call());
        }
        run(all, pauseMs, WARM_S, new ConcurrentHistogram(tookNs));
        Files.writeString(Path.of(args[2], "warm"), "warm");
        while (!Files.exists(Path.of(args[2], "go"))) {
            Thread.sleep(10);
        }
        run(all, pauseMs, Double.parseDouble(args[3]), tookNs);
        String truth = tookNs.getTotalCount() + "," + tookNs.getValueAtPercentile(50) + "," + tookNs.getValueAtPercentile(99) + ","
                + tookNs.getMaxValue();
        Files.writeString(Path.of(args[2], "truth.tmp"), truth);
        Files.move(Path.of(args[2], "truth.tmp"), Path.of(args[2], "truth"));
        System.exit(0);
    }

    private static void run(List<Ask> users, double pauseMs, double seconds, ConcurrentHistogram tookNs) throws Exception {
        long endNs = System.nanoTime() + (long) (seconds * 1e9);
        List<Thread> threads = users.stream().map(user -> new Thread(() -> ask(user, pauseMs, endNs, tookNs))).toList();
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void ask(Ask user, double pauseMs, long endNs, ConcurrentHistogram tookNs) {
        try {
            while (true) {
                double pause = -Math.log(1 - ThreadLocalRandom.current().nextDouble()) * pauseMs;
                TimeUnit.NANOSECONDS.sleep((long) (pause * 1e6));
                long beganNs = System.nanoTime();
                if (beganNs >= endNs) {
                    return;
                }
                user.once();
                tookNs.recordValue(System.nanoTime() - beganNs);
            }
        } catch (Exception failure) {
            failure.printStackTrace();
        }
    }

    private static Callable<Ask> user(String protocol, int port, String folder) throws Exception {
        switch (protocol) {
            case "grpc":
                ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
                return () -> () -> ClientCalls.blockingUnaryCall(channel, GET, CallOptions.DEFAULT, new byte[50]);
            case "kafka":
                return () -> Messages.producer(port);
            case "jdbc":
                return () -> database(port);
            case "udp":
                return () -> datagrams(port);
            case "unix":
                return () -> unix(folder);
            case "closing":
                return () -> () -> {
                    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                        exchange(socket, LAST_REQUEST);
                    }
                };
            default:
                SSLContext tls = protocol.equals("tls") ? Tls.context(folder) : null;
                return () -> {
                    Socket socket = tls == null
                            ? new Socket(InetAddress.getLoopbackAddress(), port)
                            : tls.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port);
                    socket.setTcpNoDelay(true);
                    return () -> exchange(socket, REQUEST);
                };
        }
    }

    private static void exchange(Socket socket, byte[] request) throws IOException {
        OutputStream out = socket.getOutputStream();
        out.write(request);
        out.flush();
        InputStream in = socket.getInputStream();
        // The head ends with an empty line.
        for (int ends = 0; ends < 4; ) {
            int next = in.read();
            if (next < 0) {
                throw new IOException("closed");
            }
            ends = next == (ends % 2 == 0 ? '\r' : '\n') ? ends + 1 : next == '\r' ? 1 : 0;
        }
        if (in.readNBytes(Service.ANSWER_BYTES).length < Service.ANSWER_BYTES) {
            throw new IOException("closed");
        }
    }

    private static Ask datagrams(int port) throws IOException {
        DatagramSocket socket = new DatagramSocket();
        socket.connect(InetAddress.getLoopbackAddress(), port);
        DatagramPacket answer = new DatagramPacket(new byte[Service.ANSWER_BYTES], Service.ANSWER_BYTES);
        return () -> {
            socket.send(new DatagramPacket(new byte[50], 50));
            socket.receive(answer);
        };
    }

    private static Ask unix(String folder) throws IOException {
        SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(folder + "/socket"));
        ByteBuffer answer = ByteBuffer.allocate(Service.ANSWER_BYTES);
        return () -> {
            channel.write(ByteBuffer.allocate(50));
            answer.clear();
            while (answer.hasRemaining()) {
                if (channel.read(answer) < 0) {
                    throw new IOException("closed");
                }
            }
        };
    }

    private static Ask database(int port) throws Exception {
        Connection connection = DriverManager.getConnection("jdbc:h2:tcp://localhost:" + port + "/mem:bench;DB_CLOSE_DELAY=-1");
        PreparedStatement query = connection.prepareStatement("SELECT SUM(X) FROM SYSTEM_RANGE(1, ?)");
        return () -> {
            query.setInt(1, ThreadLocalRandom.current().nextInt(50) == 0 ? 200_000 : 2_000);
            try (ResultSet rows = query.executeQuery()) {
                rows.next();
            }
        };
    }

    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException failure) {
                throw new UncheckedIOException(failure);
            }
        }
    }
}
