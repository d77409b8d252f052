import fathomlab.Lab;
import fathomlab.Work;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** A service whose library looks for an optional class, each time or once. */
public final class ClassLoading {
    private static final Map<String, Boolean> KNOWN = new ConcurrentHashMap<>();

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        long lookups = lab.number("lookups");
        boolean keeps = lab.text("keeps").equals("answers");
        LongAdder looked = new LongAdder();
        lab.onEnd(() -> lab.note("lookups", looked.sum()));
        lab.run(request -> {
            Work.spin(400_000, request);
            for (int i = 0; i < lookups && lab.in("after"); i++) {
                String name = "com.example.optional.Codec" + i % 4;
                boolean isThere = keeps ? KNOWN.computeIfAbsent(name, it -> isThere(it, looked)) : isThere(name, looked);
                if (isThere) {
                    throw new IllegalStateException(name + " is there");
                }
            }
        });
    }

    private static boolean isThere(String name, LongAdder looked) {
        looked.increment();
        try {
            Class.forName(name, false, ClassLoading.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException no) {
            return false;
        }
    }
}
