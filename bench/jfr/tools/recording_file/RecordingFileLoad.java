import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import jdk.jfr.EventType;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/** Reads start time, thread and stack of every event of FILE, PASSES times; prints seconds and events of each pass. */
public final class RecordingFileLoad {
    private static final String[] THREAD_FIELDS = {"sampledThread", "eventThread"};
    private static long sink;

    private RecordingFileLoad() {}

    public static void main(String[] args) throws Exception {
        for (int pass = 0; pass < Integer.parseInt(args[1]); pass++) {
            long start = System.nanoTime();
            long events = load(Path.of(args[0]));
            System.out.printf("%.6f %d%n", (System.nanoTime() - start) / 1e9, events);
        }
        System.err.println("checksum " + sink);
    }

    private static long load(Path file) throws Exception {
        Map<EventType, String> threadField = new HashMap<>();
        long events = 0;
        try (RecordingFile recording = new RecordingFile(file)) {
            while (recording.hasMoreEvents()) {
                RecordedEvent event = recording.readEvent();
                events++;
                sink += event.getStartTime().getNano();
                String field = threadField.computeIfAbsent(event.getEventType(), RecordingFileLoad::threadFieldOf);
                RecordedThread thread = field.isEmpty() ? null : event.getThread(field);
                sink += thread == null ? 0 : thread.getOSThreadId();
                RecordedStackTrace stack = event.getStackTrace();
                sink += stack == null ? 0 : 1;
            }
        }
        return events;
    }

    private static String threadFieldOf(EventType type) {
        for (String field : THREAD_FIELDS) {
            if (type.getField(field) != null) {
                return field;
            }
        }
        return "";
    }
}
