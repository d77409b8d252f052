import java.io.RandomAccessFile;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A small program that makes one of everything a flight recorder can see: deep and varied stacks, allocation,
 * contended monitors and locks, parks, sleeps, waits, file and socket traffic, exceptions, explicit collections.
 *
 * Usage: java Busy SECONDS [STACK_DEPTH] [WORKERS] [STACK_VARIETY]
 */
public final class Busy {
    private static final Object MONITOR = new Object();
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static volatile boolean running = true;
    private static volatile Object sink;
    private static int depth = 24;
    private static long variety = Long.MAX_VALUE;

    public static void main(String[] args) throws Exception {
        long seconds = Long.parseLong(args[0]);
        depth = args.length > 1 ? Integer.parseInt(args[1]) : depth;
        int workers = args.length > 2 ? Integer.parseInt(args[2]) : 2;
        variety = args.length > 3 ? Long.parseLong(args[3]) : variety;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
            long seed = i;
            threads.add(start("worker-" + i, () -> work(new Random(seed))));
        }
        threads.add(start("monitor-a", Busy::holdMonitor));
        threads.add(start("monitor-b", Busy::holdMonitor));
        threads.add(start("lock-a", Busy::holdLock));
        threads.add(start("lock-b", Busy::holdLock));
        threads.add(start("file-\u00e9\u4e16", Busy::files));
        threads.add(start("sockets", Busy::sockets));
        threads.add(start("thrower", Busy::exceptions));
        for (long second = 0; second < seconds; second++) {
            Thread.sleep(1000);
            System.gc();
            start("short-lived-" + second, () -> sink = new byte[1 << 16]).join();
        }
        running = false;
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private interface Task {
        void run() throws Exception;
    }

    private static Thread start(String name, Task task) {
        Thread thread = new Thread(() -> {
            try {
                task.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name);
        thread.start();
        return thread;
    }

    private static void work(Random random) {
        while (running) {
            descend(Math.floorMod(random.nextLong(), variety) * 0x9E3779B97F4A7C15L, depth / 2 + random.nextInt(depth / 2 + 1));
        }
    }

    /** Goes down through a path of methods that the bits of {@code path} choose, so that stacks differ. */
    private static long descend(long path, int left) {
        if (left == 0) {
            return leaf(path);
        }
        switch ((int) (path & 3)) {
            case 0:
                return left(Long.rotateRight(path, 2), left);
            case 1:
                return right(Long.rotateRight(path, 2), left);
            case 2:
                return middle(Long.rotateRight(path, 2), left);
            default:
                return descend(Long.rotateRight(path, 2), left - 1);
        }
    }

    private static long left(long path, int left) {
        return descend(path, left - 1) + 1;
    }

    private static long right(long path, int left) {
        return descend(path, left - 1) ^ 1;
    }

    private static long middle(long path, int left) {
        return descend(path, left - 1) * 3;
    }

    private static long leaf(long path) {
        byte[] bytes = new byte[64 + (int) (path & 255)];
        sink = bytes;
        long sum = 0;
        for (int i = 0; i < 400; i++) {
            sum += Long.rotateLeft(path, i) % 7 + bytes[i & 63];
        }
        return sum;
    }

    private static void holdMonitor() throws Exception {
        while (running) {
            synchronized (MONITOR) {
                spin(2_000_000);
                MONITOR.wait(1);
            }
            LockSupport.parkNanos(100_000);
        }
    }

    private static void holdLock() {
        while (running) {
            LOCK.lock();
            try {
                spin(3_000_000);
            } finally {
                LOCK.unlock();
            }
            LockSupport.parkNanos(MONITOR, 200_000);
        }
    }

    private static void spin(long nanos) {
        long end = System.nanoTime() + nanos;
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
    }

    private static void files() throws Exception {
        Path path = Files.createTempFile("busy", ".bin");
        byte[] block = new byte[1 << 16];
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            while (running) {
                file.seek(0);
                file.write(block);
                file.getChannel().force(true);
                file.seek(0);
                file.read(block);
                Thread.sleep(100);
            }
        } finally {
            Files.delete(path);
        }
    }

    private static void sockets() throws Exception {
        try (ServerSocket server = new ServerSocket(0)) {
            Thread echo = start("echo", () -> {
                try (Socket peer = server.accept()) {
                    int b;
                    while ((b = peer.getInputStream().read()) >= 0) {
                        Thread.sleep(25);
                        peer.getOutputStream().write(b);
                    }
                }
            });
            try (Socket client = new Socket(server.getInetAddress(), server.getLocalPort())) {
                while (running) {
                    client.getOutputStream().write(7);
                    client.getInputStream().read();
                    Thread.sleep(50);
                }
            }
            echo.join();
        }
    }

    private static void exceptions() throws Exception {
        while (running) {
            try {
                Integer.parseInt("not a number");
            } catch (NumberFormatException e) {
                sink = e;
            }
            Thread.sleep(20);
        }
    }
}
