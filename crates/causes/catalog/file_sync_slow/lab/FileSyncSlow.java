import fathomlab.Lab;
import fathomlab.Work;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A service with a journal that is safe on the disk before a request is answered. */
public final class FileSyncSlow {
    private static final int LINE_BYTES = 512;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        boolean eachLine = lab.text("syncs").equals("each_line");
        int linesAfter = (int) lab.number("lines_after");
        Path file = Path.of(lab.text("file"));
        try (FileChannel journal = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            lab.run(request -> {
                Work.spin(200_000, request);
                int lines = lab.in("after") ? linesAfter : 1;
                for (int line = 1; line <= lines; line++) {
                    write(journal, request);
                    if (eachLine || line == lines) {
                        journal.force(false);
                    }
                }
            });
        }
    }

    private static void write(FileChannel journal, int request) throws IOException {
        ByteBuffer line = ByteBuffer.allocate(LINE_BYTES);
        line.putInt(0, request);
        journal.write(line);
    }
}
