import java.io.RandomAccessFile;
import java.net.ServerSocket;
import java.net.Socket;

/** Reads a file each 5 ms, and from a socket of its own that answers after 20 ms. */
public class Reader {
    public static void main(String[] args) throws Exception {
        ServerSocket server = new ServerSocket(0);
        Thread answering = new Thread(() -> {
            try (Socket socket = server.accept()) {
                while (socket.getInputStream().read() >= 0) {
                    Thread.sleep(20);
                    socket.getOutputStream().write(1);
                }
            } catch (Exception ended) {
                System.exit(0);
            }
        }, "answers");
        answering.setDaemon(true);
        answering.start();
        Socket socket = new Socket("127.0.0.1", server.getLocalPort());
        Thread asking = new Thread(() -> {
            try {
                while (true) {
                    socket.getOutputStream().write(1);
                    socket.getInputStream().read();
                }
            } catch (Exception ended) {
                System.exit(0);
            }
        }, "asks");
        asking.setDaemon(true);
        asking.start();
        long end = System.nanoTime() + 12_000_000_000L;
        byte[] buffer = new byte[8_192];
        while (System.nanoTime() < end) {
            try (RandomAccessFile file = new RandomAccessFile("/proc/self/maps", "r")) {
                file.read(buffer);
            }
            Thread.sleep(5);
        }
    }
}
