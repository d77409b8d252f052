import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/** Another process that each request asks: it answers after as many milliseconds as the file `callee-ms` says. */
public final class Callee {
    private static final int CONNECTIONS = 16;
    private static final BlockingQueue<Socket> FREE = new ArrayBlockingQueue<>(CONNECTIONS);
    private static int made;

    /** One byte there and one back, over a connection of the pool. */
    static void ask() throws Exception {
        Socket connection = taken();
        connection.getOutputStream().write(1);
        connection.getInputStream().read();
        if (!Troubles.forgetsConnection()) {
            FREE.add(connection);
        }
    }

    private static Socket taken() throws Exception {
        Socket free = FREE.poll();
        if (free != null) {
            return free;
        }
        synchronized (Callee.class) {
            if (made < CONNECTIONS) {
                made++;
                Socket opened = new Socket(InetAddress.getLoopbackAddress(), Integer.getInteger("callee"));
                opened.setTcpNoDelay(true);
                return opened;
            }
        }
        return FREE.take();
    }

    /** A new connection of its own that an answer of many bytes comes over, read one by one. */
    static int askAndReadByteByByte() throws IOException {
        try (Socket connection = new Socket(InetAddress.getLoopbackAddress(), Integer.getInteger("callee"))) {
            connection.getOutputStream().write(2);
            InputStream in = connection.getInputStream();
            int bytes = 0;
            while (in.read() != 0) {
                bytes++;
            }
            return bytes;
        }
    }

    public static void main(String[] args) throws IOException {
        ServerSocket listening = new ServerSocket(Integer.parseInt(args[0]), 100, InetAddress.getLoopbackAddress());
        while (true) {
            Socket connection = listening.accept();
            connection.setTcpNoDelay(true);
            Thread thread = new Thread(() -> serve(connection));
            thread.setDaemon(true);
            thread.start();
        }
    }

    private static void serve(Socket connection) {
        byte[] many = new byte[4000];
        java.util.Arrays.fill(many, 0, many.length - 1, (byte) 1);
        try (connection) {
            for (int asked; (asked = connection.getInputStream().read()) > 0; ) {
                TimeUnit.MILLISECONDS.sleep(Long.parseLong(Files.readString(Path.of("callee-ms")).strip()));
                connection.getOutputStream().write(asked == 2 ? many : new byte[] {1});
            }
        } catch (IOException | InterruptedException | NumberFormatException gone) {
            // The server that asked has ended.
        }
    }
}
