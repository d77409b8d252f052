import fathomlab.Lab;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/** The other process: answers each byte after a delay. It prints its port, reads delays, and ends when nobody speaks any more. */
final class Downstream {
    private static volatile long delayMs;

    private Downstream() {}

    public static void main(String[] args) throws Exception {
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        System.out.println(server.getLocalPort());
        Lab.start("accept", () -> acceptForever(server));
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            delayMs = Long.parseLong(order);
        }
        System.exit(0);
    }

    private static void acceptForever(ServerSocket server) throws IOException {
        while (true) {
            Socket socket = server.accept();
            socket.setTcpNoDelay(true);
            Lab.start("answer", () -> answerForever(socket));
        }
    }

    private static void answerForever(Socket socket) throws InterruptedException {
        byte[] answer = new byte[64];
        try {
            while (socket.getInputStream().read() >= 0) {
                TimeUnit.MILLISECONDS.sleep(delayMs);
                socket.getOutputStream().write(answer);
            }
        } catch (IOException clientIsGone) {
            // It gave up waiting; the next one has a connection of its own.
        }
    }
}
