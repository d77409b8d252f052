import fathomlab.Lab;
import fathomlab.Work;
import java.io.BufferedInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** A service that reads its answers from a file, byte by byte or through a buffer. */
public final class ManySystemCalls {
    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int bytes = (int) lab.number("bytes");
        Path file = Path.of(lab.text("file"));
        Files.write(file, new byte[bytes]);
        boolean isBuffered = lab.text("reads").equals("buffered");
        lab.run(request -> {
            Work.spin(400_000, request);
            if (lab.in("after")) {
                try (InputStream in = open(file, isBuffered)) {
                    Work.spin(1, checksum(in));
                }
            }
        });
    }

    private static InputStream open(Path file, boolean isBuffered) throws IOException {
        InputStream in = new FileInputStream(file.toFile());
        return isBuffered ? new BufferedInputStream(in) : in;
    }

    private static long checksum(InputStream in) throws IOException {
        long sum = 0;
        for (int next = in.read(); next >= 0; next = in.read()) {
            sum = sum * 31 + next;
        }
        return sum;
    }
}
