package fathomlab;

import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

/** Another process that answers each byte after a constant time. Its arguments are its port and that time in ms. */
public final class SteadyAnswers {
    private SteadyAnswers() {}

    public static void run(String[] args) throws IOException {
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
