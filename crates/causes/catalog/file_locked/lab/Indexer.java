import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;

/** The other program: changes the index once in a second. */
public final class Indexer {
    private static final long PERIOD_MS = 1_000;

    public static void main(String[] args) throws Exception {
        long heldMs = Long.parseLong(args[1]);
        try (FileChannel channel = FileChannel.open(Path.of(args[0]), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            while (true) {
                try (FileLock lock = channel.lock()) {
                    TimeUnit.MILLISECONDS.sleep(heldMs);
                }
                TimeUnit.MILLISECONDS.sleep(PERIOD_MS - heldMs);
            }
        }
    }
}
