import fathomlab.Loopback;
import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

/** The other process: answers each byte after a time that never changes. */
public final class Prices {
    public static void main(String[] args) throws IOException {
        int port = Integer.parseInt(args[0]);
        long answerMs = Long.parseLong(args[1]);
        Loopback.serve(port, client -> answer(client, answerMs));
    }

    private static void answer(Socket client, long answerMs) throws IOException, InterruptedException {
        for (int asked = client.getInputStream().read(); asked >= 0; asked = client.getInputStream().read()) {
            TimeUnit.MILLISECONDS.sleep(answerMs);
            client.getOutputStream().write(asked);
        }
    }
}
