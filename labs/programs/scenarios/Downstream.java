import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

/** Another service: it answers each number after as many milliseconds. */
public final class Downstream {
    public static void main(String[] args) throws Exception {
        ServerSocket server = new ServerSocket(Integer.parseInt(args[0]), 100, InetAddress.getLoopbackAddress());
        while (true) {
            Socket client = server.accept();
            client.setTcpNoDelay(true);
            Thread thread = new Thread(() -> serve(client));
            thread.setDaemon(true);
            thread.start();
        }
    }

    private static void serve(Socket client) {
        try (client) {
            DataInputStream in = new DataInputStream(client.getInputStream());
            DataOutputStream out = new DataOutputStream(client.getOutputStream());
            while (true) {
                int delayMs = in.readInt();
                TimeUnit.MILLISECONDS.sleep(delayMs);
                out.writeInt(delayMs);
            }
        } catch (IOException | InterruptedException end) {
            // The client hung up.
        }
    }
}
