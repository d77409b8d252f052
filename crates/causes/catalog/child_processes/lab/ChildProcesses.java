import fathomlab.Lab;
import fathomlab.Work;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;

/** Handlers that ask a child process for each request, and wait for what it prints. The program notes how long they did. */
public final class ChildProcesses {
    private static final AtomicLong CHILDREN = new AtomicLong();
    private static final AtomicLong WAITED_NS = new AtomicLong();

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        boolean asks = lab.text("asks").equals("child");
        String[] command = {"/bin/sh", "-c", "sleep " + lab.number("child_ms") / 1000.0 + "; echo 7"};
        lab.note("children", CHILDREN);
        lab.note("waited_ns", WAITED_NS);
        lab.run(request -> {
            Work.spin(200_000, request);
            if (asks && lab.in("after")) {
                ask(command);
            }
        });
    }

    private static void ask(String[] command) {
        long from = System.nanoTime();
        try {
            Process child = new ProcessBuilder(command).redirectErrorStream(true).start();
            child.getInputStream().readAllBytes();
            child.waitFor();
        } catch (IOException failure) {
            throw new IllegalStateException(failure);
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
        CHILDREN.incrementAndGet();
        WAITED_NS.addAndGet(System.nanoTime() - from);
    }
}
