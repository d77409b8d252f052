import com.sun.management.OperatingSystemMXBean;
import fathomlab.Lab;
import fathomlab.Loopback;
import fathomlab.Work;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
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
    private static final int MAKE_READY = 2_000;
    private static final AtomicLong BYTES = new AtomicLong();
    private static final ThreadLocal<Socket> KEPT = new ThreadLocal<>();

    private final String style;
    private final int port;
    private final int objectBytes;
    private final int smallBuffer;
    /** A client of some library; null when the style needs none. */
    private final Download library;
    private final AtomicLong downloads = new AtomicLong();
    private final AtomicLong downloadingNs = new AtomicLong();
    private final AtomicLong downloadedBytes = new AtomicLong();
    private volatile long cpuBeforeNs;
    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private ChattySocketReads(Lab lab) throws Exception {
        style = lab.text("style");
        port = (int) lab.number("port");
        objectBytes = (int) lab.number("object_kb") << 10;
        smallBuffer = (int) lab.number("small_buffer");
        library = style.endsWith("Download") ? Download.by(style, port, objectBytes) : null;
    }

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        ChattySocketReads client = new ChattySocketReads(lab);
        Loopback.await(client.port);
        client.compileLibrary(lab);
        lab.note("bytes_read", BYTES);
        lab.onPhase("after", () -> client.cpuBeforeNs = cpuNs());
        lab.onEnd(() -> client.note(lab));
        lab.run(request -> {
            Work.spin(50_000, request);
            boolean exposed = lab.in("after");
            client.download(exposed ? client.style : "buffered", exposed);
        });
    }

    /** A large library takes its time to be compiled, which another lab is about. */
    private void compileLibrary(Lab lab) throws Exception {
        if (library != null) {
            lab.awaitRecorder();
            for (int i = 0; i < MAKE_READY; i++) {
                library.get();
            }
        }
    }

    private void note(Lab lab) {
        lab.note("exposed_downloads", downloads.get());
        lab.note("exposed_bytes", downloadedBytes.get());
        lab.note("exposed_downloading_ns", downloadingNs.get());
        lab.note("exposed_process_cpu_ns", cpuNs() - cpuBeforeNs);
    }

    private static long cpuNs() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private void download(String how, boolean exposed) throws Exception {
        long from = System.nanoTime();
        long bytes = get(how);
        BYTES.addAndGet(bytes);
        if (exposed) {
            downloads.incrementAndGet();
            downloadedBytes.addAndGet(bytes);
            downloadingNs.addAndGet(System.nanoTime() - from);
        }
    }

    private long get(String how) throws Exception {
        switch (how) {
            case "unbuffered":
                return ask(kept(0), smallBuffer);
            case "time_out":
                return ask(kept(10_000), GOOD_BUFFER);
            case "connection_per_object":
                try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
                    return ask(socket, GOOD_BUFFER);
                }
            case "http_url_connection":
                return Download.drain(((HttpURLConnection) uri().toURL().openConnection()).getInputStream());
            case "http_client":
                HttpRequest request = HttpRequest.newBuilder(uri()).build();
                return Download.drain(http.send(request, HttpResponse.BodyHandlers.ofInputStream()).body());
            case "buffered":
                return ask(kept(0), GOOD_BUFFER);
            default:
                return library.get();
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
    private long ask(Socket socket, int bufferBytes) throws IOException {
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
        return objectBytes;
    }
}
