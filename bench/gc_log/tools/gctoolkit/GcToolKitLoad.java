import com.microsoft.gctoolkit.event.jvm.JVMEvent;
import com.microsoft.gctoolkit.io.SingleGCLogFile;
import com.microsoft.gctoolkit.jvm.Diary;
import com.microsoft.gctoolkit.message.ChannelName;
import com.microsoft.gctoolkit.message.JVMEventChannel;
import com.microsoft.gctoolkit.message.JVMEventChannelListener;
import com.microsoft.gctoolkit.parser.GCLogParser;
import com.microsoft.gctoolkit.parser.GenerationalHeapParser;
import com.microsoft.gctoolkit.parser.JVMEventParser;
import com.microsoft.gctoolkit.parser.ShenandoahParser;
import com.microsoft.gctoolkit.parser.SurvivorMemoryPoolParser;
import com.microsoft.gctoolkit.parser.UnifiedG1GCParser;
import com.microsoft.gctoolkit.parser.UnifiedGenerationalParser;
import com.microsoft.gctoolkit.parser.UnifiedJVMEventParser;
import com.microsoft.gctoolkit.parser.UnifiedSurvivorMemoryPoolParser;
import com.microsoft.gctoolkit.parser.ZGCParser;
import java.nio.file.Path;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;

/**
 * Feeds FILE to the parsers that GCToolKit itself would choose for it, PASSES times; prints seconds and events of each.
 *
 * <p>The parsers are called directly, in one thread, instead of through GCToolKit's message bus: less work than its users
 * pay for.
 */
public final class GcToolKitLoad {
    private GcToolKitLoad() {}

    /** Counts what the parsers publish. */
    private static final class Counter implements JVMEventChannel {
        long events;

        @Override
        public void registerListener(JVMEventChannelListener listener) {}

        @Override
        public void publish(ChannelName from, JVMEvent event) {
            events++;
        }

        @Override
        public void close() {}
    }

    public static void main(String[] args) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        for (int pass = 0; pass < Integer.parseInt(args[1]); pass++) {
            long start = System.nanoTime();
            long events = load(Path.of(args[0]));
            System.out.printf("%.6f %d%n", (System.nanoTime() - start) / 1e9, events);
        }
    }

    private static long load(Path file) throws Exception {
        SingleGCLogFile log = new SingleGCLogFile(file);
        Diary diary = log.diary();
        Counter counter = new Counter();
        List<GCLogParser> chosen = parsers().stream().filter(parser -> parser.accepts(diary)).toList();
        for (GCLogParser parser : chosen) {
            parser.diary(diary);
            parser.publishTo(counter);
        }
        try (Stream<String> lines = log.stream()) {
            lines.forEach(line -> chosen.forEach(parser -> parser.receive(line)));
        }
        chosen.forEach(parser -> parser.receive(log.endOfData()));
        return counter.events;
    }

    private static List<GCLogParser> parsers() {
        return List.of(
                new GenerationalHeapParser(), new JVMEventParser(), new ShenandoahParser(), new SurvivorMemoryPoolParser(),
                new UnifiedG1GCParser(), new UnifiedGenerationalParser(), new UnifiedJVMEventParser(),
                new UnifiedSurvivorMemoryPoolParser(), new ZGCParser());
    }
}
