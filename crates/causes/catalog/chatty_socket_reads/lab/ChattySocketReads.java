import fathomlab.Lab;
import fathomlab.Loopback;
import fathomlab.Work;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.atomic.AtomicLong;

/** Downloads objects of a fixed size from a server on the same machine, in one of several styles. */
public final class ChattySocketReads {
    private static final int GOOD_BUFFER = 64 * 1024;
    private static final AtomicLong BYTES = new AtomicLong();
    private static final ThreadLocal<Socket> KEPT = new ThreadLocal<>();

    private final String style;
    private final int port;
    private final int objectBytes;
    private final int smallBuffer;
    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private ChattySocketReads(Lab lab) {
        style = lab.text("style");
        port = (int) lab.number("port");
        objectBytes = (int) lab.number("object_kb") << 10;
        smallBuffer = (int) lab.number("small_buffer");
    }

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        ChattySocketReads client = new ChattySocketReads(lab);
        Loopback.await(client.port);
        lab.note("bytes_read", BYTES);
        lab.run(request -> {
            Work.spin(50_000, request);
            client.download(lab.in("after"));
        });
    }

    private void download(boolean exposed) throws Exception {
        switch (exposed ? style : "buffered") {
            case "unbuffered":
                ask(kept(0), smallBuffer);
                break;
            case "time_out":
                ask(kept(10_000), GOOD_BUFFER);
                break;
            case "connection_per_object":
                try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                    ask(socket, GOOD_BUFFER);
                }
                break;
            case "http_url_connection":
                read(((HttpURLConnection) uri().toURL().openConnection()).getInputStream(), GOOD_BUFFER);
                break;
            case "http_client":
                HttpRequest request = HttpRequest.newBuilder(uri()).build();
                read(http.send(request, HttpResponse.BodyHandlers.ofInputStream()).body(), GOOD_BUFFER);
                break;
            default:
                ask(kept(0), GOOD_BUFFER);
        }
    }

    private URI uri() {
        return URI.create("http://127.0.0.1:" + port + "/" + objectBytes);
    }

    /** One connection for each thread. */
    private Socket kept(int timeOutMs) throws IOException {
        Socket socket = KEPT.get();
        if (socket == null) {
            socket = new Socket(InetAddress.getLoopbackAddress(), port);
            KEPT.set(socket);
        }
        socket.setSoTimeout(timeOutMs);
        return socket;
    }

    /** The bare protocol: a size, and that many bytes. */
    private void ask(Socket socket, int bufferBytes) throws IOException {
        DataOutputStream out = new DataOutputStream(socket.getOutputStream());
        out.writeInt(objectBytes);
        InputStream in = socket.getInputStream();
        byte[] buffer = new byte[bufferBytes];
        for (int left = objectBytes; left > 0; ) {
            int read = in.read(buffer, 0, Math.min(buffer.length, left));
            if (read < 0) {
                throw new IOException("the server hung up");
            }
            left -= read;
        }
        BYTES.addAndGet(objectBytes);
    }

    private static void read(InputStream body, int bufferBytes) throws IOException {
        byte[] buffer = new byte[bufferBytes];
        try (InputStream in = body) {
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                BYTES.addAndGet(read);
            }
        }
    }
}
