import fathomlab.Loopback;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Sends objects of the size that is asked for, as fast as it can: by HTTP/1.1, or as bare bytes after a bare size. */
public final class ObjectServer {
    private static final byte[] DATA = new byte[4 << 20];

    private ObjectServer() {}

    public static void main(String[] args) throws IOException {
        Loopback.serve(Integer.parseInt(args[0]), ObjectServer::send);
    }

    private static void send(Socket client) throws IOException {
        DataInputStream in = new DataInputStream(client.getInputStream());
        OutputStream out = client.getOutputStream();
        while (true) {
            int word = in.readInt();
            // "GET " as a number: no object is that large.
            boolean isHttp = word == 0x47455420;
            int size = isHttp ? sizeInRequest(in) : word;
            if (isHttp) {
                String head = "HTTP/1.1 200 OK\r\nContent-Length: " + size + "\r\n\r\n";
                out.write(head.getBytes(StandardCharsets.ISO_8859_1));
            }
            out.write(DATA, 0, Math.min(size, DATA.length));
        }
    }

    /** The number at the end of the path in "/objects/307200?x=y HTTP/1.1"; the rest of the head is skipped. */
    private static int sizeInRequest(DataInputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            head.append((char) in.readUnsignedByte());
        }
        String path = head.substring(0, head.indexOf(" ")).split("\\?")[0];
        return Integer.parseInt(path.substring(path.lastIndexOf('/') + 1));
    }
}
