import fathomlab.Lab;
import fathomlab.Loopback;
import fathomlab.Work;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A service with ordinary load: it computes, allocates, calls another service, and takes a lock. The variant decides which of
 * these goes wrong, how often, and whether at the same time as something else.
 */
public final class Scenarios {
    private static final Object LOCK = new Object();
    private static final List<byte[]> CACHE = new ArrayList<>();
    private static final AtomicLong LOCK_NS = new AtomicLong();
    private static final AtomicLong DOWNSTREAM_NS = new AtomicLong();
    private static final ThreadLocal<Socket> KEPT = new ThreadLocal<>();

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int port = (int) lab.number("port");
        int delayMs = (int) lab.number("downstream_ms");
        for (long bytes = 0; bytes < lab.number("cache_mb") << 20; bytes += 64) {
            CACHE.add(new byte[48]);
        }
        for (int i = 0; i < 5; i++) {
            System.gc();
        }
        Loopback.await(port);
        lab.note("lock_wait_ns", LOCK_NS);
        lab.note("downstream_wait_ns", DOWNSTREAM_NS);
        lab.onPhase("after", () -> goWrong(lab));
        lab.run(request -> {
            Work.spin(200_000, request);
            Work.fill(new byte[64 * 1024], request);
            if (request % 10 == 0) {
                askDownstream(port, lab.in("after") ? delayMs : 0, lab);
            } else if (request % 10 == 5) {
                goThroughLock(lab);
            }
        });
    }

    private static void askDownstream(int port, int delayMs, Lab lab) throws IOException {
        Socket socket = KEPT.get();
        if (socket == null) {
            socket = new Socket(InetAddress.getLoopbackAddress(), port);
            KEPT.set(socket);
        }
        long from = System.nanoTime();
        new DataOutputStream(socket.getOutputStream()).writeInt(delayMs);
        new DataInputStream(socket.getInputStream()).readInt();
        count(DOWNSTREAM_NS, from, lab);
    }

    private static void goThroughLock(Lab lab) {
        long from = System.nanoTime();
        synchronized (LOCK) {
            count(LOCK_NS, from, lab);
        }
    }

    private static void count(AtomicLong sum, long fromNs, Lab lab) {
        if (lab.in("after")) {
            sum.addAndGet(System.nanoTime() - fromNs);
        }
    }

    private static void goWrong(Lab lab) {
        long holdMs = lab.number("hold_ms");
        AtomicInteger collections = new AtomicInteger();
        lab.note("collections", collections);
        try {
            if (lab.number("collect_once_after_ms") > 0) {
                TimeUnit.MILLISECONDS.sleep(lab.number("collect_once_after_ms"));
                collections.incrementAndGet();
                System.gc();
            }
            while (holdMs > 0 && lab.in("after")) {
                synchronized (LOCK) {
                    TimeUnit.MILLISECONDS.sleep(holdMs);
                }
                TimeUnit.MILLISECONDS.sleep(lab.number("free_ms"));
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }
}
