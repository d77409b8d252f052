import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Who reads the log from a pipe: as fast as it comes, and from a certain line on with a pause in each second. */
public final class LogReader {
    static final String PAUSE_FROM_NOW_ON = "pause from now on";
    private static final long PERIOD_MS = 1_000;

    public static void main(String[] args) throws Exception {
        Path pipe = Path.of(args[0]);
        long pauseMs = Long.parseLong(args[1]);
        if (new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor() != 0) {
            throw new IllegalStateException("mkfifo " + pipe);
        }
        long pausedAtMs = Long.MAX_VALUE;
        try (BufferedReader lines = Files.newBufferedReader(pipe)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                long nowMs = System.nanoTime() / 1_000_000;
                if (line.contains(PAUSE_FROM_NOW_ON)) {
                    pausedAtMs = nowMs - PERIOD_MS;
                }
                if (pausedAtMs != Long.MAX_VALUE && nowMs - pausedAtMs >= PERIOD_MS) {
                    pausedAtMs = nowMs;
                    TimeUnit.MILLISECONDS.sleep(pauseMs);
                }
            }
        }
        // The runner wants its companions to stay.
        Thread.sleep(Long.MAX_VALUE);
    }
}
