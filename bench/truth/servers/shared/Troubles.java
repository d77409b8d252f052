import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntUnaryOperator;
import java.util.regex.Pattern;

/**
 * An agent that makes the JVM ill while the file `ill` is in the folder of the process: its content is the illness. What a request suffers
 * is called by `Work`; what befalls the whole JVM is done by a thread of the agent.
 */
public final class Troubles {
    private static final int POLL_MS = 20;
    private static final Object CATALOGUE = new Object();
    private static final ReentrantLock STOCK = new ReentrantLock();
    private static final ExecutorService PRICING = Executors.newFixedThreadPool(2);
    private static final Pattern NESTED = Pattern.compile("(x+x+)+y");
    private static final List<Object> KEPT = new ArrayList<>();
    private static final int KEPT_MB = Integer.getInteger("keptMb", 40);
    /** One part in so many of the heap stays free when it is filled. */
    private static final int FREE_PART = Integer.getInteger("freePart", 10);
    private static final int ARRAYS = Integer.getInteger("arrays", 20_000);
    private static final int FAILURES = Integer.getInteger("failures", 400);
    private static final int CODE_EVERY_MS = Integer.getInteger("codeEveryMs", 0);
    private static final long RULES_EVERY_NS = TimeUnit.SECONDS.toNanos(4);
    private static final int STALL_MS = 300;
    private static final int BALLAST_BYTES = 10_000_000;
    private static final int SIGNED_BYTES = 8_000_000;
    private static final Semaphore TICKETS = new Semaphore(1);
    private static final BlockingQueue<Object> CONFIRMED = new LinkedBlockingQueue<>();
    private static final ExecutorService BOOKING = Executors.newFixedThreadPool(1);

    private static volatile String now = "";
    private static volatile Object sink;
    private static volatile IntUnaryOperator rules;
    private static long rulesNs;
    private static int requests;

    public static void premain(String words) {
        for (int i = 0; i < KEPT_MB * 1024 * 1024 / 80; i++) {
            KEPT.add(new byte[60]);
        }
        FirstCalls.load();
        daemon("settings", Troubles::watch);
    }

    private static void daemon(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void watch() {
        Path file = Path.of("ill");
        while (true) {
            try {
                TimeUnit.MILLISECONDS.sleep(POLL_MS);
                String next = Files.exists(file) ? Files.readString(file).strip() : "";
                if (!next.equals(now)) {
                    now = next;
                    begin(next);
                }
            } catch (IOException | InterruptedException passing) {
                // Looked at again.
            }
        }
    }

    /** What befalls the JVM as a whole, until another word is in the file. */
    private static void begin(String illness) {
        switch (illness) {
            case "system_gc" -> whileIll(illness, 300, System::gc);
            case "old_full" -> fill();
            case "dumps" -> dumps(illness);
            case "copies" -> copies(illness);
            case "code" -> whileIll(illness, CODE_EVERY_MS, () -> code(30));
            case "rules" -> whileIll(illness, CODE_EVERY_MS, Troubles::reloadRules);
            case "stall" -> daemon("reload", Troubles::holdCatalogue);
            case "ballast" -> whileIll(illness, 100, () -> KEPT.add(ByteBuffer.allocateDirect(BALLAST_BYTES)));
            default -> { }
        }
    }

    private static void whileIll(String illness, int everyMs, Runnable task) {
        daemon("maintenance", () -> {
            while (now.equals(illness)) {
                task.run();
                pause(everyMs);
            }
        });
    }

    /** Keeps objects until only a part of the heap is free. */
    private static void fill() {
        Runtime runtime = Runtime.getRuntime();
        long most = runtime.maxMemory();
        while (most - runtime.totalMemory() + runtime.freeMemory() > most / FREE_PART) {
            KEPT.add(new byte[50_000]);
        }
        System.gc();
        while (most - runtime.totalMemory() + runtime.freeMemory() > most / FREE_PART) {
            KEPT.add(new byte[50_000]);
        }
    }

    private static void dumps(String illness) {
        for (int i = 0; i < 400; i++) {
            daemon("sleeper-" + i, () -> below(100, illness));
        }
        whileIll(illness, 20, () -> sink = ManagementFactory.getThreadMXBean().dumpAllThreads(true, true));
    }

    private static void below(int frames, String illness) {
        if (frames > 0) {
            below(frames - 1, illness);
            return;
        }
        while (now.equals(illness)) {
            pause(1000);
        }
    }

    /** Long copies, in which the JVM cannot stop this thread. */
    private static void copies(String illness) {
        byte[] from = new byte[400_000_000], to = new byte[400_000_000];
        whileIll(illness, 5, () -> System.arraycopy(from, 0, to, 0, from.length));
    }

    static boolean forgetsConnection() {
        return now.equals("leak") && ++requests % 10 == 0 && requests < 150;
    }

    /** What a request suffers. */
    static void suffer() throws Exception {
        switch (now) {
            case "lock" -> underTheLock();
            case "lock_io" -> askUnderTheLock();
            case "pool" -> PRICING.submit(() -> pause(18)).get();
            case "single" -> BOOKING.submit(() -> ask(5)).get();
            case "sleep" -> pause(40);
            case "pinned" -> pinned();
            case "exceptions" -> parsed(60);
            case "regex" -> NESTED.matcher("x".repeat(17)).matches();
            case "collisions" -> sink = collided(600);
            case "writes" -> writtenByteByByte(2000);
            case "humongous" -> sink = new byte[8_000_000];
            case "garbage", "old_full" -> garbage();
            case "direct" -> sink = ByteBuffer.allocateDirect(1_000_000);
            case "classes" -> classes();
            case "child" -> new ProcessBuilder("/bin/true").start().waitFor();
            case "bytes" -> sink = Callee.askAndReadByteByByte();
            case "stall" -> readCatalogue();
            case "rules" -> applyRules();
            case "first_calls" -> FirstCalls.callNext();
            case "crypto" -> sink = MessageDigest.getInstance("SHA-256").digest(new byte[SIGNED_BYTES]);
            case "force" -> forceThreeTimes();
            case "semaphore" -> askWithATicket();
            case "poll" -> sink = CONFIRMED.poll(40, TimeUnit.MILLISECONDS);
            default -> { }
        }
    }

    /** Once. */
    private static void holdCatalogue() {
        synchronized (CATALOGUE) {
            pause(STALL_MS);
        }
    }

    private static void readCatalogue() {
        synchronized (CATALOGUE) {
            requests++;
        }
    }

    private static void underTheLock() {
        synchronized (CATALOGUE) {
            long until = System.nanoTime() + 5_000_000;
            while (System.nanoTime() < until) {
                sink = Integer.toString((int) until);
            }
        }
    }

    /** A virtual thread keeps its carrier under a monitor (JDK 21), though nobody else wants this one. */
    private static void pinned() {
        synchronized (new Object()) {
            pause(30);
        }
    }

    private static void askUnderTheLock() throws Exception {
        STOCK.lock();
        try {
            ask(3);
        } finally {
            STOCK.unlock();
        }
    }

    private static void askWithATicket() throws Exception {
        TICKETS.acquire();
        try {
            ask(3);
        } finally {
            TICKETS.release();
        }
    }

    private static void forceThreeTimes() throws IOException {
        try (FileChannel ledger = FileChannel.open(Path.of("ledger"), StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            for (int i = 0; i < 3; i++) {
                ledger.write(ByteBuffer.allocate(4096));
                ledger.force(false);
            }
        }
    }

    private static Void ask(int times) throws Exception {
        for (int i = 0; i < times; i++) {
            Callee.ask();
        }
        return null;
    }

    /** Keys of one hash that have no order, so that each is compared with all others. */
    private static Map<Object, Integer> collided(int keys) {
        Map<Object, Integer> stock = new HashMap<>();
        for (int i = 0; i < keys; i++) {
            stock.put(new Article(i), i);
        }
        return stock;
    }

    private record Article(int number) {
        @Override
        public int hashCode() {
            return 1;
        }
    }

    private static void writtenByteByByte(int bytes) throws IOException {
        try (OutputStream out = Files.newOutputStream(Path.of("receipts"))) {
            for (int i = 0; i < bytes; i++) {
                out.write(i);
            }
        }
    }

    private static int parsed(int frames) {
        if (frames > 0) {
            return parsed(frames - 1) + 1;
        }
        int failed = 0;
        for (int i = 0; i < FAILURES; i++) {
            try {
                Integer.parseInt("n/a");
            } catch (NumberFormatException notANumber) {
                failed++;
            }
        }
        return failed;
    }

    private static void garbage() {
        List<byte[]> page = new ArrayList<>();
        for (int i = 0; i < ARRAYS; i++) {
            page.add(new byte[80]);
        }
        sink = page;
    }

    private static void classes() throws Exception {
        for (int i = 0; i < 3; i++) {
            sink = loaded();
        }
    }

    /** New classes whose methods are run until they are compiled. */
    private static void code(int copies) {
        try {
            for (int i = 0; i < copies; i++) {
                IntUnaryOperator fat = loaded();
                for (int k = 0; k < 30; k++) {
                    sink = fat.applyAsInt(k);
                }
            }
        } catch (Exception impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Code that is generated anew, of which requests run the newest from time to time. */
    private static void reloadRules() {
        code(30);
        if (System.nanoTime() - rulesNs > RULES_EVERY_NS) {
            try {
                rules = loaded();
                rulesNs = System.nanoTime();
            } catch (Exception impossible) {
                throw new IllegalStateException(impossible);
            }
        }
    }

    private static void applyRules() {
        IntUnaryOperator newest = rules;
        for (int i = 0; newest != null && i < 20; i++) {
            sink = newest.applyAsInt(i);
        }
    }

    private static IntUnaryOperator loaded() throws Exception {
        byte[] bytes;
        try (InputStream in = Troubles.class.getResourceAsStream("Fat.class")) {
            bytes = in.readAllBytes();
        }
        ClassLoader loader = new ClassLoader(null) {
            @Override
            protected Class<?> findClass(String name) {
                return defineClass(name, bytes, 0, bytes.length);
            }
        };
        return (IntUnaryOperator) loader.loadClass("Fat").getDeclaredConstructor().newInstance();
    }

    private static void pause(int ms) {
        try {
            TimeUnit.MILLISECONDS.sleep(ms);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }
}
