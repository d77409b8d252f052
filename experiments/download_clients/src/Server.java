import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import javax.net.ssl.SSLServerSocketFactory;

/** Answers each GET of a path that ends in a number with that many bytes, as S3 does; by TLS when asked to. */
public final class Server {
    private static final byte[] DATA = new byte[1 << 20];

    private Server() {}

    public static void main(String[] args) throws IOException {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        boolean tls = Boolean.parseBoolean(args[0]);
        ServerSocket server = tls
            ? SSLServerSocketFactory.getDefault().createServerSocket(0, 64, loopback)
            : new ServerSocket(0, 64, loopback);
        System.out.println(server.getLocalPort());
        while (true) {
            Socket client = server.accept();
            Thread thread = new Thread(() -> answer(client));
            thread.setDaemon(true);
            thread.start();
        }
    }

    private static void answer(Socket client) {
        try (client) {
            client.setTcpNoDelay(true);
            InputStream in = new BufferedInputStream(client.getInputStream());
            OutputStream out = client.getOutputStream();
            for (String head = head(in); !head.isEmpty(); head = head(in)) {
                String path = head.split(" ")[1].split("\\?")[0];
                long size = Long.parseLong(path.substring(path.lastIndexOf('/') + 1));
                String answer = "HTTP/1.1 200 OK\r\nContent-Type: binary/octet-stream\r\nETag: \"1\"\r\nContent-Length: " + size + "\r\n\r\n";
                out.write(answer.getBytes(StandardCharsets.ISO_8859_1));
                for (long left = size; left > 0; left -= DATA.length) {
                    out.write(DATA, 0, (int) Math.min(left, DATA.length));
                }
                out.flush();
            }
        } catch (IOException gone) {
            // A client that goes away while it is answered ends its connection.
        }
    }

    /** A request up to its empty line; empty at the end of the connection. */
    private static String head(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int next = in.read();
            if (next < 0) {
                return "";
            }
            head.append((char) next);
        }
        return head.toString();
    }
}
