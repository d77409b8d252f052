import fathomlab.Lab;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

/** The other process: who accepts connections pauses for a part of each second from a certain question on; who answers does not. */
public final class Component {
    static final int PAUSE_FROM_NOW_ON = 2;
    private static final long PERIOD_MS = 1_000;
    private static final long PAUSE_MS = 150;

    private static volatile boolean pauses;

    public static void main(String[] args) throws Exception {
        int backlog = Integer.parseInt(args[1]);
        ServerSocket server = new ServerSocket(Integer.parseInt(args[0]), backlog, InetAddress.getLoopbackAddress());
        long pausedAtMs = 0;
        while (true) {
            Socket client = server.accept();
            Lab.start("answer", () -> answerUntilHungUp(client));
            long nowMs = System.nanoTime() / 1_000_000;
            if (pauses && nowMs - pausedAtMs >= PERIOD_MS) {
                pausedAtMs = nowMs;
                TimeUnit.MILLISECONDS.sleep(PAUSE_MS);
            }
        }
    }

    private static void answerUntilHungUp(Socket client) {
        try (client) {
            for (int asked = client.getInputStream().read(); asked >= 0; asked = client.getInputStream().read()) {
                pauses |= asked == PAUSE_FROM_NOW_ON;
                client.getOutputStream().write(1);
            }
        } catch (IOException gone) {
            // It has what it wanted.
        }
    }
}
