import one.jfr.JfrReader;
import one.jfr.event.Event;

/** Reads time, thread and stack id of every event of FILE that the reader knows, PASSES times; prints seconds and events. */
public final class JfrReaderLoad {
    private static long sink;

    private JfrReaderLoad() {}

    public static void main(String[] args) throws Exception {
        for (int pass = 0; pass < Integer.parseInt(args[1]); pass++) {
            long start = System.nanoTime();
            long events = load(args[0]);
            System.out.printf("%.6f %d%n", (System.nanoTime() - start) / 1e9, events);
        }
        System.err.println("checksum " + sink);
    }

    private static long load(String file) throws Exception {
        long events = 0;
        try (JfrReader reader = new JfrReader(file)) {
            for (Event event; (event = reader.readEvent()) != null; ) {
                events++;
                sink += event.time + event.tid + event.stackTraceId;
            }
        }
        return events;
    }
}
