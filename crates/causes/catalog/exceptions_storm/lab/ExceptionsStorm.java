import fathomlab.Lab;
import fathomlab.Work;
import java.util.concurrent.atomic.LongAdder;

/** A service that parses fields, some of which are no numbers: told by an exception, or by a look at the field. */
public final class ExceptionsStorm {
    private static final int DEPTH = 60;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        long fields = lab.number("fields");
        boolean looks = lab.text("tries").equals("looking");
        LongAdder made = new LongAdder();
        lab.onEnd(() -> lab.note("exceptions", made.sum()));
        lab.run(request -> {
            Work.spin(400_000, request);
            for (int field = 0; field < fields; field++) {
                parseBelow(DEPTH, lab.in("after") ? "n/a" : Integer.toString(field), looks, made);
            }
        });
    }

    /** Frameworks have a stack. */
    private static int parseBelow(int frames, String field, boolean looks, LongAdder made) {
        return frames == 0 ? parse(field, looks, made) : parseBelow(frames - 1, field, looks, made);
    }

    private static int parse(String field, boolean looks, LongAdder made) {
        if (looks && !Character.isDigit(field.charAt(0))) {
            return 0;
        }
        try {
            return Integer.parseInt(field);
        } catch (NumberFormatException notDecimal) {
            made.increment();
        }
        try {
            return Integer.parseInt(field, 16);
        } catch (NumberFormatException notHexadecimal) {
            made.increment();
            return 0;
        }
    }
}
