import fathomlab.Lab;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** A name server for which every host is this one. After it was asked for a certain name it takes longer for everything. */
public final class NameServer {
    /** The name after which it is slow. */
    static final String SLOW_FROM_NOW_ON = "slow-from-now-on.lab";

    private static final int HEADER_BYTES = 12;
    private static final int TYPE_A = 1;
    private static final long QUICK_MS = 1;

    private final DatagramSocket socket;
    private final ScheduledExecutorService later = Executors.newScheduledThreadPool(2);
    private final long slowMs;
    private volatile boolean isSlow;

    private NameServer(DatagramSocket socket, long slowMs) {
        this.socket = socket;
        this.slowMs = slowMs;
    }

    public static void main(String[] args) throws Exception {
        DatagramSocket socket = new DatagramSocket(new InetSocketAddress(args[0], 53));
        new NameServer(socket, Long.parseLong(args[1])).serveForever();
    }

    private void serveForever() throws IOException {
        while (true) {
            DatagramPacket question = new DatagramPacket(new byte[512], 512);
            socket.receive(question);
            byte[] answer = answer(Arrays.copyOf(question.getData(), question.getLength()));
            DatagramPacket packet = new DatagramPacket(answer, answer.length, question.getSocketAddress());
            long afterMs = isSlow ? slowMs : QUICK_MS;
            later.schedule(() -> send(packet), afterMs, TimeUnit.MILLISECONDS);
        }
    }

    private void send(DatagramPacket answer) {
        Lab.start("answer", () -> socket.send(answer));
    }

    /** The question again, with 127.0.0.1 where that was asked for. */
    private byte[] answer(byte[] asked) {
        int nameEnds = HEADER_BYTES;
        StringBuilder name = new StringBuilder();
        while (asked[nameEnds] != 0) {
            name.append(new String(asked, nameEnds + 1, asked[nameEnds], StandardCharsets.US_ASCII)).append('.');
            nameEnds += 1 + asked[nameEnds];
        }
        isSlow |= name.toString().equals(SLOW_FROM_NOW_ON + ".");
        int type = asked[nameEnds + 1] << 8 | asked[nameEnds + 2];
        int questionEnds = nameEnds + 5;
        ByteBuffer answer = ByteBuffer.allocate(questionEnds + (type == TYPE_A ? 16 : 0));
        answer.put(asked, 0, questionEnds);
        answer.putShort(2, (short) 0x8180).putShort(6, (short) (type == TYPE_A ? 1 : 0)).putInt(8, 0);
        if (type == TYPE_A) {
            answer.putShort((short) 0xc00c).putShort((short) TYPE_A).putShort((short) 1).putInt(0);
            answer.putShort((short) 4).put(new byte[] {127, 0, 0, 1});
        }
        return answer.array();
    }
}
