import java.io.FileDescriptor;
import java.io.RandomAccessFile;

/** Threads that wait for a lock, for a disk and for nothing, and some that end. */
public class Mixed {
    public static void main(String[] args) throws Exception {
        Object lock = new Object();
        for (int i = 0; i < 3; i++) {
            new Thread(() -> { while (true) { synchronized (lock) { spin(4); } pause(15); } }, "worker-" + i).start();
        }
        new Thread(Mixed::write, "journal").start();
        for (int i = 0; ; i++) {
            new Thread(() -> { for (int n = 0; n < 60; n++) { spin(3); pause(20); } }, "task-" + i).start();
            pause(2_000);
        }
    }

    private static void write() {
        try (RandomAccessFile file = new RandomAccessFile("journal.bin", "rw")) {
            while (true) { file.write(new byte[1 << 16]); file.getFD().sync(); if (file.length() > 8 << 20) { file.setLength(0); } pause(50); }
        } catch (Exception error) { throw new IllegalStateException(error); }
    }

    private static volatile long sum;

    private static void spin(long ms) {
        for (long end = System.nanoTime() + ms * 1_000_000; System.nanoTime() < end; ) { sum++; }
    }

    private static void pause(long ms) {
        try { Thread.sleep(ms); } catch (InterruptedException error) { throw new IllegalStateException(error); }
    }
}
