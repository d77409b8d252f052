import java.io.File;
import java.util.List;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;

/** Loads FILE as JMC does, PASSES times, and prints seconds and events of each pass. Nothing is read back out. */
public final class JmcLoad {
    private JmcLoad() {}

    public static void main(String[] args) throws Exception {
        for (int pass = 0; pass < Integer.parseInt(args[1]); pass++) {
            long start = System.nanoTime();
            IItemCollection all = JfrLoaderToolkit.loadEvents(List.of(new File(args[0])));
            long events = 0;
            for (IItemIterable oneType : all) {
                for (IItem ignored : oneType) {
                    events++;
                }
            }
            System.out.printf("%.6f %d%n", (System.nanoTime() - start) / 1e9, events);
        }
    }
}
