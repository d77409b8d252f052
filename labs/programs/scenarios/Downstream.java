import fathomlab.Loopback;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

/** Another service: it answers each number after this many milliseconds. */
public final class Downstream {
    private Downstream() {}

    public static void main(String[] args) throws IOException {
        Loopback.serve(Integer.parseInt(args[0]), Downstream::answer);
    }

    private static void answer(Socket client) throws IOException, InterruptedException {
        DataInputStream in = new DataInputStream(client.getInputStream());
        DataOutputStream out = new DataOutputStream(client.getOutputStream());
        while (true) {
            int delayMs = in.readInt();
            TimeUnit.MILLISECONDS.sleep(delayMs);
            out.writeInt(delayMs);
        }
    }
}
