package fathomlab;

import com.sun.nio.file.ExtendedOpenOption;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;

/** Reads a block of a file for each request, bypassing the page cache as databases do. */
public final class DirectReads {
    private static final int BLOCK_BYTES = 4096;

    private final FileChannel file;
    private final int blocks;
    private final LongAdder reads = new LongAdder();
    private final LongAdder readNs = new LongAdder();
    private final ThreadLocal<ByteBuffer> buffer =
            ThreadLocal.withInitial(() -> ByteBuffer.allocateDirect(2 * BLOCK_BYTES).alignedSlice(BLOCK_BYTES));

    private DirectReads(FileChannel file) throws IOException {
        this.file = file;
        blocks = (int) (file.size() / BLOCK_BYTES);
    }

    /** Runs a lab whose argument `file` names the file. If `order` is `one_at_a_time`, a lock allows only one reader at a time. */
    public static void run(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        Path path = Path.of(lab.text("file"));
        FileChannel file = FileChannel.open(path, StandardOpenOption.READ, ExtendedOpenOption.DIRECT);
        DirectReads service = new DirectReads(file);
        lab.onEnd(() -> {
            lab.note("reads", service.reads.sum());
            lab.note("reading_ns", service.readNs.sum());
            lab.note("read_ns", service.readNs.sum() / (double) Math.max(1, service.reads.sum()));
        });
        boolean isLocked = lab.text("order").equals("one_at_a_time");
        lab.run(request -> {
            Work.spin(100_000, request);
            if (isLocked) {
                service.readAlone(lab.in("after"));
            } else {
                service.read(lab.in("after"));
            }
        });
    }

    private synchronized void readAlone(boolean counts) throws IOException {
        read(counts);
    }

    private void read(boolean counts) throws IOException {
        long block = ThreadLocalRandom.current().nextInt(blocks);
        ByteBuffer into = buffer.get().clear().limit(BLOCK_BYTES);
        long from = System.nanoTime();
        file.read(into, block * BLOCK_BYTES);
        if (counts) {
            reads.increment();
            readNs.add(System.nanoTime() - from);
        }
    }
}
