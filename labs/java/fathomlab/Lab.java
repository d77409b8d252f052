package fathomlab;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * A small service under steady load that goes through phases. A lab defines what a request does and what happens when a
 * phase begins. This class does the rest: arrivals, handler threads, latency, and the record of the actual dose.
 */
public final class Lab {
    private static final long DRAIN_NS = TimeUnit.SECONDS.toNanos(3);

    private final Settings settings;
    private final Phase[] phases;
    private final Requests requests;
    private final BlockingQueue<Integer> queue;
    private final Map<String, Runnable> phaseActions = new HashMap<>();
    private final Map<String, Object> dose = Collections.synchronizedMap(new LinkedHashMap<>());
    private final List<Runnable> endActions = new ArrayList<>();
    private volatile String phase = "start";
    private volatile long phaseStartNs;

    private Lab(Settings settings) {
        this.settings = settings;
        phases = settings.phases();
        double expected = 0;
        for (Phase p : phases) {
            expected += p.seconds * p.requestsPerSecond;
        }
        // Arrivals are random: a margin of six standard deviations.
        int capacity = (int) (expected + 6 * Math.sqrt(expected) + 100);
        requests = new Requests(capacity);
        queue = new ArrayBlockingQueue<>(capacity);
    }

    public static Lab of(String[] args) {
        endWithRunner();
        Report.loadClasses();
        return new Lab(new Settings(args));
    }

    /**
     * Waits until the recorder has started, for a program that warms up before its first request: starting a recording in the
     * JVM may discard all compiled code.
     */
    public void awaitRecorder() throws IOException {
        System.out.println("waits_for_recorder");
        while (System.in.read() >= 0) {
            // The input ends when the recorder has started; nothing is written to it.
        }
    }

    public long number(String name) {
        return settings.number(name);
    }

    public String text(String name) {
        return settings.text(name);
    }

    /** Whether the named phase is running now. Handlers use this to change their behaviour. */
    public boolean in(String name) {
        return phase.equals(name);
    }

    /** For how many nanoseconds the named phase has been running; negative when another one is. */
    public long nsIn(String name) {
        return in(name) ? System.nanoTime() - phaseStartNs : -1;
    }

    /** Runs the action on its own thread when the phase begins. */
    public void onPhase(String name, Runnable action) {
        phaseActions.put(name, action);
    }

    /** Runs the action when all phases are over, before the dose is written. */
    public void onEnd(Runnable action) {
        endActions.add(action);
    }

    /** Records a fact of the dose: what was actually done, as measured by the program itself. */
    public void note(String name, Object value) {
        dose.put(name, value);
    }

    /** Starts a thread that does not keep the program alive and ends the whole run when it fails. */
    public static Thread start(String name, Task task) {
        return start(Thread::new, name, task);
    }

    /** The same with a thread from this factory. */
    public static Thread start(ThreadFactory threads, String name, Task task) {
        Thread thread = threads.newThread(() -> {
            try {
                task.run();
            } catch (Throwable failure) {
                fail(failure);
            }
        });
        thread.setName(name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Work that may fail. */
    public interface Task {
        void run() throws Exception;
    }

    /** Runs all phases, writes what was measured, and ends the program. */
    public void run(Service service) throws Exception {
        run(service, Thread::new);
    }

    /** The same with handler threads from this factory. */
    public void run(Service service, ThreadFactory handlers) throws Exception {
        if (settings.has("sockets")) {
            runAtSockets(service, handlers);
        }
        for (int i = 1; i <= number("handlers"); i++) {
            start(handlers, "handler-" + i, () -> handleForever(service));
        }
        Report report = new Report(requests);
        Thread arrivals = start("arrivals", new Arrivals(phases, requests, queue, next -> enter(next, report))::run);
        Thread reporter = start("report", () -> {
            waitForFirstPhase();
            report.run();
        });
        arrivals.join();
        drain();
        reporter.interrupt();
        reporter.join();
        endActions.forEach(Runnable::run);
        report.writeLatencies(out().resolve("latency.csv"));
        writeDose(requests.issued(), requests.unfinished());
        System.exit(0);
    }

    /** The same for clients in another process, which measure the latency themselves. */
    private void runAtSockets(Service service, ThreadFactory handlers) throws Exception {
        Sockets sockets = new Sockets();
        for (int i = 1; i <= number("handlers"); i++) {
            start(handlers, "handler-" + i, () -> sockets.handleForever(service));
        }
        start("poller", sockets::pollForever);
        sockets.tellWhere();
        for (Phase next : phases) {
            next.fromMs = Clock.epochMs(System.nanoTime());
            enter(next, new Report(requests));
            TimeUnit.NANOSECONDS.sleep((long) (next.seconds * 1e9));
            next.toMs = Clock.epochMs(System.nanoTime());
        }
        endActions.forEach(Runnable::run);
        writeDose(sockets.begun(), sockets.unanswered());
        System.exit(0);
    }

    private Path out() {
        return Paths.get(text("out"));
    }

    private void writeDose(int issued, int unanswered) throws IOException {
        Files.write(out().resolve("dose.json"), Json.of(summary(issued, unanswered)).getBytes(StandardCharsets.UTF_8));
    }

    private void enter(Phase next, Report report) {
        report.enter(next);
        phaseStartNs = System.nanoTime();
        phase = next.name;
        // The runner changes the program's environment when it reads this.
        System.out.println("phase_begins=" + next.name);
        Runnable action = phaseActions.get(next.name);
        if (action != null) {
            start("phase-" + next.name, action::run);
        }
    }

    private void waitForFirstPhase() throws InterruptedException {
        while (phase.equals("start")) {
            TimeUnit.MILLISECONDS.sleep(1);
        }
    }

    private void handleForever(Service service) throws Exception {
        while (true) {
            int request = queue.take();
            service.handle(request);
            requests.done(request, System.nanoTime());
        }
    }

    private void drain() throws InterruptedException {
        long deadline = System.nanoTime() + DRAIN_NS;
        while (requests.unfinished() > 0 && System.nanoTime() - deadline < 0) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
    }

    private Map<String, Object> summary(int issued, int unanswered) {
        List<Object> phaseList = new ArrayList<>();
        for (Phase p : phases) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("name", p.name);
            row.put("from_ms", p.fromMs);
            row.put("to_ms", p.toMs);
            row.put("requests_per_second", p.requestsPerSecond);
            phaseList.add(row);
        }
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("lab", text("lab"));
        all.put("variant", text("variant"));
        all.put("jdk", System.getProperty("java.runtime.version"));
        all.put("phases", phaseList);
        all.put("requests", issued);
        all.put("unanswered", unanswered);
        all.put("dose", dose);
        return all;
    }

    /** Ends the program when the runner that started it is gone, however that died. */
    private static void endWithRunner() {
        String runner = System.getenv("FATHOM_LAB_RUNNER");
        if (runner == null) {
            return;
        }
        start("runner-watch", () -> {
            while (isChildOf(runner)) {
                TimeUnit.MILLISECONDS.sleep(500);
            }
            Runtime.getRuntime().halt(2);
        });
    }

    /** Whether this is the parent. Also true if no file can be opened to check it, because that may be the lab's fault. */
    private static boolean isChildOf(String runner) {
        try {
            return runner.equals(parent());
        } catch (IOException tooManyOpenFiles) {
            return true;
        }
    }

    /** The number of the parent process, which JDK 8 has no method for: the second word after the name, which may itself hold blanks. */
    private static String parent() throws IOException {
        String stat = new String(Files.readAllBytes(Paths.get("/proc/self/stat")), StandardCharsets.ISO_8859_1);
        return stat.substring(stat.lastIndexOf(')')).split(" ")[2];
    }

    private static void fail(Throwable failure) {
        if (!(failure instanceof InterruptedException)) {
            failure.printStackTrace();
            Runtime.getRuntime().halt(3);
        }
    }
}
