import fathomlab.Copies;
import fathomlab.Lab;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;

/**
 * Many generated screens, each compiled for the one kind of customer seen so far: the branches for other kinds were never
 * taken, so the compiler left a trap in their place. Then a new kind arrives several times a second, and each time all
 * screens fall back to the interpreter and are compiled again. The fixed variant has seen all kinds before.
 */
public final class DeoptimizationStorm {
    public static void main(String[] args) throws Throwable {
        Lab lab = Lab.of(args);
        int kinds = Screen.KINDS;
        long newKindEveryNs = lab.number("new_kind_every_ms") * 1_000_000;
        boolean allKindsKnown = lab.text("known_kinds").equals("all");
        int rows = (int) lab.number("rows_per_request");
        Object[] copies = Copies.of(MethodHandles.lookup(), "Screen000", (int) lab.number("screens"));
        Screen[] screens = Arrays.copyOf(copies, copies.length, Screen[].class);
        lab.note("screens", screens.length);
        lab.note("kinds", kinds);
        lab.note("new_kind_every_ms", lab.number("new_kind_every_ms"));
        lab.note("known_kinds", lab.text("known_kinds"));
        if (allKindsKnown) {
            showAllKinds(screens);
        }
        lab.run(request -> {
            int newest = lab.in("after") ? (int) Math.min(1 + lab.nsIn("after") / newKindEveryNs, kinds - 1) : 0;
            Screen screen = screens[request % screens.length];
            for (int row = 0; row < rows; row++) {
                screen.show(newest, request + row);
            }
        });
    }

    /** Enough of each kind that every branch has been taken when the compiler looks. */
    private static void showAllKinds(Screen[] screens) {
        for (int row = 0; row < 60_000; row++) {
            for (Screen screen : screens) {
                screen.show(row % Screen.KINDS, row);
            }
        }
    }
}
