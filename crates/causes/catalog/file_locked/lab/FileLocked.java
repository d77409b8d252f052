import fathomlab.Lab;
import fathomlab.Work;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A service that reads an index under the lock of its file, so that nobody changes it meanwhile. */
public final class FileLocked {
    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        Path file = Path.of(lab.text("file"));
        Object ours = new Object();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            lab.run(request -> {
                Work.spin(400_000, request);
                // One JVM may have a lock once.
                synchronized (ours) {
                    try (FileLock lock = channel.lock()) {
                        Work.spin(100_000, request);
                    }
                }
            });
        }
    }
}
