import fathomlab.Lab;
import fathomlab.Work;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A thread that takes numbered datagrams from a socket and counts those that are missing. Something else holds it up now
 * and then: full collections, or the CPU quota that other threads have used up.
 */
public final class ReceiveQueueOverflow {
    private static final List<byte[]> CACHE = new ArrayList<>();
    private static final AtomicLong LOST = new AtomicLong();
    private static final AtomicLong RECEIVED = new AtomicLong();

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        for (long bytes = 0; bytes < lab.number("cache_mb") << 20; bytes += 64) {
            CACHE.add(new byte[48]);
        }
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), (int) lab.number("port"));
        lab.note("lost_datagrams", LOST);
        lab.note("received_datagrams", RECEIVED);
        // What is lost while the program warms up belongs to no phase.
        lab.onPhase("before", () -> Lab.start("receiver", () -> receive(lab, new DatagramSocket(address))));
        lab.onPhase("after", () -> holdUp(lab));
        lab.run(request -> Work.spin(20_000, request));
    }

    /** Until just before the end: a JVM that ends stops its threads before their sockets are closed, and what comes then is lost. */
    private static void receive(Lab lab, DatagramSocket socket) throws Exception {
        byte[] buffer = new byte[2048];
        DatagramPacket packet = new DatagramPacket(buffer, buffer.length);
        long expected = -1;
        long untilNs = lengthNs(lab, "after") - TimeUnit.MILLISECONDS.toNanos(200);
        while (lab.nsIn("after") < untilNs) {
            socket.receive(packet);
            long number = ByteBuffer.wrap(buffer).getLong();
            if (expected >= 0 && number > expected) {
                LOST.addAndGet(number - expected);
            }
            expected = number + 1;
            RECEIVED.incrementAndGet();
        }
        socket.close();
    }

    private static void holdUp(Lab lab) {
        long everyMs = lab.number("every_ms");
        // What is lost while the program ends is lost after it has counted.
        long untilNs = lengthNs(lab, "after") - TimeUnit.MILLISECONDS.toNanos(everyMs + 2_000);
        try {
            while (everyMs > 0 && lab.nsIn("after") < untilNs) {
                TimeUnit.MILLISECONDS.sleep(everyMs);
                if (lab.text("by").equals("collections")) {
                    System.gc();
                } else if (lab.text("by").equals("quota")) {
                    spinOnAllCpus(lab.number("spin_ms"));
                }
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    /** How long a phase lasts, from the list that the runner gives: name:seconds:requests, separated by commas. */
    private static long lengthNs(Lab lab, String phase) {
        for (String one : lab.text("phases").split(",")) {
            if (one.startsWith(phase + ":")) {
                return (long) (Double.parseDouble(one.split(":")[1]) * 1e9);
            }
        }
        return 0;
    }

    /** Uses up the quota of the group: everybody in it waits for the next period. */
    private static void spinOnAllCpus(long ms) throws InterruptedException {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            threads.add(Lab.start("spinner-" + i, () -> {
                while (System.nanoTime() - until < 0) {
                    Work.spin(1_000, until);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
