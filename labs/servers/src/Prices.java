import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;

/** A service of prices that takes some time for each; a negative request sets this time in milliseconds. And its client. */
public final class Prices {
    private static final ConcurrentLinkedDeque<Socket> IDLE = new ConcurrentLinkedDeque<>();
    private static volatile int delayMs = 4;

    public static void main(String[] args) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 256, InetAddress.getLoopbackAddress())) {
            Files.writeString(Path.of(args[0]), Integer.toString(server.getLocalPort()));
            while (true) {
                Socket client = server.accept();
                client.setTcpNoDelay(true);
                Thread thread = new Thread(() -> answer(client));
                thread.setDaemon(true);
                thread.start();
            }
        }
    }

    private static void answer(Socket client) {
        try (client;
                DataInputStream in = new DataInputStream(client.getInputStream());
                DataOutputStream out = new DataOutputStream(client.getOutputStream())) {
            while (true) {
                int item = in.readInt();
                if (item < 0) {
                    delayMs = -item;
                }
                TimeUnit.MILLISECONDS.sleep(delayMs);
                out.writeInt(item % 97);
            }
        } catch (IOException gone) {
            // The client has closed its connection.
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    /** Requests a price over a persistent connection. Also a function of the database. */
    public static int ask(int port, int item) throws IOException {
        Socket socket = IDLE.poll();
        if (socket == null) {
            socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setTcpNoDelay(true);
        }
        new DataOutputStream(socket.getOutputStream()).writeInt(item);
        int price = new DataInputStream(socket.getInputStream()).readInt();
        IDLE.push(socket);
        return price;
    }
}
