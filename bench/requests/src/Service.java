import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** A service with known delays: `PROTOCOL PORT FOLDER`. Most requests take one to two milliseconds, one in fifty takes ten more. */
public final class Service {
    static final int ANSWER_BYTES = 500;
    private static final int THREADS = 64;

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[1]);
        switch (args[0]) {
            case "unix" -> unix(args[2]);
            case "jdbc" -> org.h2.tools.Server.createTcpServer("-tcpPort", args[1], "-ifNotExists", "-baseDir", args[2]).start();
            case "grpc" -> grpc(port);
            case "udp" -> datagrams(port);
            case "tls" -> {
                HttpsServer server = HttpsServer.create(at(port), 1024);
                server.setHttpsConfigurator(new HttpsConfigurator(Tls.context(args[2])));
                start(server);
            }
            default -> start(HttpServer.create(at(port), 1024));
        }
        Thread.currentThread().join();
    }

    static void work() {
        boolean isLong = ThreadLocalRandom.current().nextInt(50) == 0;
        try {
            TimeUnit.MICROSECONDS.sleep((isLong ? 10_000 : 0) + 1_000 + ThreadLocalRandom.current().nextInt(1_000));
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private static InetSocketAddress at(int port) {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    }

    private static void start(HttpServer server) {
        server.setExecutor(Executors.newFixedThreadPool(THREADS));
        server.createContext("/", Service::answer);
        server.start();
    }

    private static void answer(HttpExchange exchange) throws IOException {
        work();
        exchange.sendResponseHeaders(200, ANSWER_BYTES);
        exchange.getResponseBody().write(new byte[ANSWER_BYTES]);
        exchange.close();
    }

    private static void grpc(int port) throws Exception {
        ServerServiceDefinition service = ServerServiceDefinition.builder("fathom.Bench")
                .addMethod(Clients.GET, ServerCalls.asyncUnaryCall((byte[] asked, StreamObserver<byte[]> answer) -> {
                    work();
                    answer.onNext(new byte[ANSWER_BYTES]);
                    answer.onCompleted();
                }))
                .build();
        NettyServerBuilder.forPort(port).executor(Executors.newFixedThreadPool(THREADS)).addService(service).build().start();
    }

    private static void datagrams(int port) throws IOException {
        DatagramSocket socket = new DatagramSocket(at(port));
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        while (true) {
            DatagramPacket asked = new DatagramPacket(new byte[ANSWER_BYTES], ANSWER_BYTES);
            socket.receive(asked);
            threads.execute(() -> answer(socket, asked));
        }
    }

    private static void answer(DatagramSocket socket, DatagramPacket asked) {
        work();
        try {
            socket.send(new DatagramPacket(new byte[ANSWER_BYTES], ANSWER_BYTES, asked.getSocketAddress()));
        } catch (IOException end) {
            System.err.println(end);
        }
    }

    private static void unix(String folder) throws IOException {
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(folder + "/socket"));
        while (true) {
            SocketChannel connection = server.accept();
            new Thread(() -> answerAll(connection)).start();
        }
    }

    private static void answerAll(SocketChannel connection) {
        ByteBuffer asked = ByteBuffer.allocate(4_096);
        try (connection) {
            while (connection.read(asked.clear()) > 0) {
                work();
                connection.write(ByteBuffer.allocate(ANSWER_BYTES));
            }
        } catch (IOException end) {
            System.err.println(end);
        }
    }
}
