import fathomlab.Lab;
import fathomlab.Loopback;
import fathomlab.Work;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Answers each request with the help of another process, which it asks over a socket and which turns slow in the middle of
 * the run. The fixed variant gives it a few milliseconds, works the answer out from what it knew last, which takes it as long as the
 * helper used to take, and leaves a silent helper alone for five seconds.
 */
public final class SlowDownstream {
    private static final int ANSWER_BYTES = 64;
    private static final long LEFT_ALONE_NS = 5_000_000_000L;
    /** About a millisecond: were answers quicker without the helper, the time with it would be the slow one. */
    private static final int OWN_ANSWER_STEPS = 1_000_000;

    private final int timeoutMs;
    private final AtomicLong leaveAloneUntil = new AtomicLong(System.nanoTime());
    private final ThreadLocal<Socket> connection;

    private SlowDownstream(int port, int timeoutMs) {
        connection = Loopback.connections(port);
        this.timeoutMs = timeoutMs;
    }

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        long before = lab.number("downstream_ms_before");
        long after = lab.number("downstream_ms_after");
        Process downstream = startDownstream();
        BufferedReader says = new BufferedReader(new InputStreamReader(downstream.getInputStream(), StandardCharsets.UTF_8));
        int port = Integer.parseInt(says.readLine());
        setDelay(downstream, before);
        lab.note("downstream_ms_before", before);
        lab.note("downstream_ms_after", after);
        lab.note("timeout_ms", lab.number("timeout_ms"));
        lab.onPhase("after", () -> setDelay(downstream, after));
        SlowDownstream service = new SlowDownstream(port, (int) lab.number("timeout_ms"));
        lab.run(request -> {
            Work.spin(200_000, request);
            service.answer(request);
        });
    }

    /** The other process ends when its standard input does, that is with this one. */
    private static Process startDownstream() throws IOException {
        String java = ProcessHandle.current().info().command().orElseThrow(() -> new IOException("no path of java"));
        return new ProcessBuilder(java, "-Xmx32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "Downstream")
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static void setDelay(Process downstream, long delayMs) {
        try {
            OutputStream orders = downstream.getOutputStream();
            orders.write((delayMs + "\n").getBytes(StandardCharsets.UTF_8));
            orders.flush();
        } catch (IOException gone) {
            throw new IllegalStateException("the downstream process is gone", gone);
        }
    }

    private void answer(long request) throws IOException {
        boolean isAlone = System.nanoTime() - leaveAloneUntil.get() < 0;
        if (isAlone || !ask()) {
            Work.spin(OWN_ANSWER_STEPS, request);
        }
    }

    /** Whether the other process answered in time. */
    private boolean ask() throws IOException {
        try {
            Socket socket = connection.get();
            socket.setSoTimeout(timeoutMs);
            socket.getOutputStream().write(1);
            socket.getInputStream().readNBytes(ANSWER_BYTES);
            return true;
        } catch (SocketTimeoutException silent) {
            // The late answer must not be taken for the next one's.
            connection.get().close();
            connection.remove();
            leaveAloneUntil.set(System.nanoTime() + LEFT_ALONE_NS);
            return false;
        }
    }
}
