import com.microsoft.gctoolkit.event.GCEvent;
import com.microsoft.gctoolkit.event.g1gc.G1GCPauseEvent;
import com.microsoft.gctoolkit.event.generational.GenerationalGCPauseEvent;
import com.microsoft.gctoolkit.event.jvm.ApplicationStoppedTime;
import com.microsoft.gctoolkit.event.jvm.JVMEvent;
import com.microsoft.gctoolkit.io.SingleGCLogFile;
import com.microsoft.gctoolkit.jvm.Diary;
import com.microsoft.gctoolkit.message.ChannelName;
import com.microsoft.gctoolkit.message.JVMEventChannel;
import com.microsoft.gctoolkit.message.JVMEventChannelListener;
import com.microsoft.gctoolkit.parser.CMSTenuredPoolParser;
import com.microsoft.gctoolkit.parser.GCLogParser;
import com.microsoft.gctoolkit.parser.GenerationalHeapParser;
import com.microsoft.gctoolkit.parser.JVMEventParser;
import com.microsoft.gctoolkit.parser.PreUnifiedG1GCParser;
import com.microsoft.gctoolkit.parser.ShenandoahParser;
import com.microsoft.gctoolkit.parser.UnifiedG1GCParser;
import com.microsoft.gctoolkit.parser.UnifiedGenerationalParser;
import com.microsoft.gctoolkit.parser.UnifiedJVMEventParser;
import com.microsoft.gctoolkit.parser.ZGCParser;
import com.microsoft.gctoolkit.time.DateTimeStamp;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;

/** Prints the pauses that GCToolKit's parsers find in each FILE, one line of JSON per file: time, duration, type and cause. */
public final class GcToolKitPauses {
    private GcToolKitPauses() {}

    /** Keeps the published events, as rows of JSON. */
    private static final class Rows implements JVMEventChannel {
        final List<String> rows = new ArrayList<>();

        @Override
        public void registerListener(JVMEventChannelListener listener) {}

        @Override
        public void publish(ChannelName from, JVMEvent event) {
            String row = "{\"at\": " + number(seconds(event.getDateTimeStamp()));
            row += ", \"seconds\": " + number(event.getDuration()) + ", \"is\": \"" + event.getClass().getSimpleName() + '"';
            if (event instanceof GCEvent gc) {
                row += ", \"type\": \"" + gc.getGarbageCollectionType() + "\", \"cause\": \"" + gc.getGCCause() + '"';
                row += ", \"stops\": " + (gc instanceof G1GCPauseEvent || gc instanceof GenerationalGCPauseEvent);
            }
            if (event instanceof ApplicationStoppedTime stop) {
                row += ", \"until_stopped\": " + number(stop.hasTTSP() ? stop.getTimeToStopThreads() : 0.0);
                row += ", \"of_gc\": " + stop.isGCPause();
            }
            rows.add(row + "}");
        }

        @Override
        public void close() {}
    }

    public static void main(String[] args) {
        Logger.getLogger("").setLevel(Level.OFF);
        for (String file : args) {
            System.out.println(answer(Path.of(file)));
        }
        System.exit(0);
    }

    private static String answer(Path file) {
        try {
            return "{\"events\": [" + String.join(", ", events(new SingleGCLogFile(file))) + "]}";
        } catch (Exception failure) {
            return "{\"refused\": \"" + failure.getClass().getSimpleName() + "\"}";
        }
    }

    private static List<String> events(SingleGCLogFile log) throws Exception {
        Diary diary = log.diary();
        Rows found = new Rows();
        List<GCLogParser> chosen = parsers().stream().filter(parser -> parser.accepts(diary)).toList();
        for (GCLogParser parser : chosen) {
            parser.diary(diary);
            parser.publishTo(found);
        }
        try (Stream<String> lines = log.stream()) {
            lines.forEach(line -> chosen.forEach(parser -> receive(parser, line)));
        }
        chosen.forEach(parser -> receive(parser, log.endOfData()));
        return found.rows;
    }

    /** A parser that fails on a line continues with the next one: other parsers' events, and its own later ones, are still useful. */
    private static void receive(GCLogParser parser, String line) {
        try {
            parser.receive(line);
        } catch (RuntimeException failure) {
            // The failure of a single line.
        }
    }

    private static List<GCLogParser> parsers() {
        return List.of(
                new CMSTenuredPoolParser(), new GenerationalHeapParser(), new JVMEventParser(), new PreUnifiedG1GCParser(),
                new ShenandoahParser(), new UnifiedG1GCParser(), new UnifiedGenerationalParser(), new UnifiedJVMEventParser(),
                new ZGCParser());
    }

    /** Uptime, or the wall clock if a log has no uptimes. */
    private static double seconds(DateTimeStamp stamp) {
        return stamp.hasTimeStamp() ? stamp.getTimeStamp() : stamp.toEpochInMillis() / 1000;
    }

    private static String number(double value) {
        return Double.isFinite(value) ? Double.toString(value) : "0.0";
    }
}
