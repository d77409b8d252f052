import fathomlab.Lab;
import fathomlab.Work;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;

/** A service that appends to a journal for each request, each of its threads to one of its own, and does not wait until it is on the disk. */
public final class MemoryReclaim {
    private static final int ENTRY_BYTES = 128 << 10;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        String journals = lab.text("journals");
        AtomicInteger number = new AtomicInteger();
        ThreadLocal<OutputStream> journal = ThreadLocal.withInitial(() -> open(Path.of(journals + number.getAndIncrement())));
        byte[] entry = new byte[ENTRY_BYTES];
        lab.run(request -> {
            Work.spin(200_000, request);
            journal.get().write(entry);
        });
    }

    private static OutputStream open(Path path) {
        try {
            return Files.newOutputStream(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
