import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.LockSupport;

/** Sends numbered datagrams at a steady rate; on demand it now and then sends many at once. */
public final class Feed {
    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        long perSecond = Long.parseLong(args[1]);
        long burst = Long.parseLong(args[2]);
        byte[] bytes = new byte[200];
        DatagramPacket packet = new DatagramPacket(bytes, bytes.length, InetAddress.getLoopbackAddress(), port);
        try (DatagramSocket socket = new DatagramSocket()) {
            long begin = System.nanoTime();
            long number = 0;
            while (true) {
                long ns = System.nanoTime() - begin;
                // One burst every three seconds.
                long due = (long) (ns / 1e9 * perSecond) + (ns / 3_000_000_000L) * burst;
                for (; number < due; number++) {
                    ByteBuffer.wrap(bytes).putLong(number);
                    socket.send(packet);
                }
                LockSupport.parkNanos(500_000);
            }
        }
    }
}
