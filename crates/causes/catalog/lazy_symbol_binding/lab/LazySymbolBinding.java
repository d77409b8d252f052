import fathomlab.Lab;
import fathomlab.Work;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Every request calls one function of a large native library; now and then, in the second half of the run, one calls a
 * function that nobody has called before. What the loader reads to find it had been in memory when the program started.
 */
public final class LazySymbolBinding {
    private static final int FUNCTIONS = 64;

    private final Lab lab;
    private final long everyNs;
    private final AtomicInteger called = new AtomicInteger();
    private final AtomicLong firstCallsNs = new AtomicLong();
    private final AtomicLong longestNs = new AtomicLong();

    private LazySymbolBinding(Lab lab) {
        this.lab = lab;
        everyNs = lab.number("first_call_every_ms") * 1_000_000;
    }

    private static native void hot();

    private static native void rare(int number);

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        Path library = Path.of(lab.text("library"));
        keepInPageCache(library);
        System.load(library.toString());
        System.load(lab.text("caller"));
        LazySymbolBinding service = new LazySymbolBinding(lab);
        lab.onEnd(service::note);
        lab.run(request -> {
            Work.spin(100_000, request);
            hot();
            service.callForTheFirstTime();
        });
    }

    /** As after a start on a machine with memory to spare. */
    private static void keepInPageCache(Path library) throws IOException {
        Files.readAllBytes(library);
    }

    private void callForTheFirstTime() {
        int number = called.get();
        long due = lab.nsIn("after") / everyNs;
        if (number >= due || number >= FUNCTIONS || !called.compareAndSet(number, number + 1)) {
            return;
        }
        long from = System.nanoTime();
        rare(number);
        long took = System.nanoTime() - from;
        firstCallsNs.addAndGet(took);
        longestNs.accumulateAndGet(took, Math::max);
    }

    private void note() {
        lab.note("first_calls", called.get());
        lab.note("first_calls_ns", firstCallsNs.get());
        lab.note("longest_first_call_ns", longestNs.get());
    }
}
