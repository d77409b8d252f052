import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** The other program: stops a process for some time, looks, and lets it go on; with no time it only looks. */
public final class Onlooker {
    private static final long PERIOD_MS = 2_000;

    public static void main(String[] args) throws Exception {
        String pid = Files.readString(Path.of(args[0]));
        long stoppedMs = Long.parseLong(args[1]);
        while (true) {
            if (stoppedMs > 0) {
                stop(pid, stoppedMs);
            }
            Files.readString(Path.of("/proc", pid, "status"));
            TimeUnit.MILLISECONDS.sleep(PERIOD_MS - stoppedMs);
        }
    }

    private static void stop(String pid, long stoppedMs) throws Exception {
        try {
            signal("STOP", pid);
            TimeUnit.MILLISECONDS.sleep(stoppedMs);
        } finally {
            signal("CONT", pid);
        }
    }

    private static void signal(String name, String pid) throws Exception {
        new ProcessBuilder("kill", "-" + name, pid).start().waitFor();
    }
}
