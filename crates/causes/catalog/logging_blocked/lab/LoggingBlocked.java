import fathomlab.Lab;
import fathomlab.Work;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.logging.StreamHandler;

/** A service that logs each request to a pipe, directly or through a queue that drops lines when it is full. */
public final class LoggingBlocked {
    private static final Logger LOG = Logger.getLogger("service");
    private static final String BODY = "x".repeat(2_000);

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        Path pipe = Path.of(lab.text("pipe"));
        while (!Files.exists(pipe)) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        LOG.setUseParentHandlers(false);
        Handler writer = new LineHandler(new FileOutputStream(pipe.toFile()));
        LOG.addHandler(lab.text("log").equals("queued") ? new DroppingHandler(writer) : writer);
        LongAdder loggingNs = new LongAdder();
        lab.onPhase("after", () -> LOG.info(LogReader.PAUSE_FROM_NOW_ON));
        lab.onEnd(() -> lab.note("logging_ms", loggingNs.sum() / 1_000_000));
        lab.run(request -> {
            Work.spin(200_000, request);
            long from = System.nanoTime();
            LOG.log(Level.INFO, "request {0} {1}", new Object[] {request, BODY});
            if (lab.in("after")) {
                loggingNs.add(System.nanoTime() - from);
            }
        });
    }

    /** Writes each line at once, as the handler of the console does. */
    private static final class LineHandler extends StreamHandler {
        LineHandler(OutputStream out) {
            super(out, new SimpleFormatter());
        }

        @Override
        public synchronized void publish(LogRecord line) {
            super.publish(line);
            flush();
        }
    }

    /** Leaves the writing to a thread of its own, and drops what does not fit. */
    private static final class DroppingHandler extends Handler {
        private final BlockingQueue<LogRecord> queue = new ArrayBlockingQueue<>(256);

        DroppingHandler(Handler writer) {
            Consumer<LogRecord> write = writer::publish;
            Lab.start("log-writer", () -> {
                while (true) {
                    write.accept(queue.take());
                }
            });
        }

        @Override
        public void publish(LogRecord line) {
            queue.offer(line);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }
}
