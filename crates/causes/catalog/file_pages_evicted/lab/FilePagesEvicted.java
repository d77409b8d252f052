import fathomlab.Lab;
import fathomlab.Work;
import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;

/** Looks something up in a mapped index for each request. The index is in memory until others need the memory. */
public final class FilePagesEvicted {
    private static final int PAGE_BYTES = 4096;
    private static final long SLOW_NS = 1_000_000;

    private final MappedByteBuffer index;
    private final LongAdder slowNs = new LongAdder();
    private final LongAdder slow = new LongAdder();

    private FilePagesEvicted(MappedByteBuffer index) {
        this.index = index;
    }

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        FilePagesEvicted service = new FilePagesEvicted(map(Path.of(lab.text("index"))));
        service.index.load();
        lab.onEnd(() -> {
            lab.note("slow_lookups", service.slow.sum());
            lab.note("slow_lookups_ns", service.slowNs.sum());
        });
        lab.run(request -> {
            Work.spin(100_000, request);
            service.lookUp(lab.in("after"));
        });
    }

    private static MappedByteBuffer map(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            return channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
        }
    }

    private void lookUp(boolean counts) {
        int page = ThreadLocalRandom.current().nextInt(index.capacity() / PAGE_BYTES);
        long from = System.nanoTime();
        Work.spin(1, index.get(page * PAGE_BYTES));
        long took = System.nanoTime() - from;
        if (counts && took >= SLOW_NS) {
            slow.increment();
            slowNs.add(took);
        }
    }
}
