import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Allocates and keeps some of it, for 8 s. */
public class Idle {
    public static void main(String[] args) throws Exception {
        List<Map<Integer, String>> kept = new ArrayList<>();
        long end = System.nanoTime() + 8_000_000_000L;
        for (int i = 0; System.nanoTime() < end; i++) {
            Map<Integer, String> map = new HashMap<>();
            map.put(i, "value " + i);
            if (i % 100 == 0) {
                kept.add(map);
            }
            if (i % 1_000 == 0) {
                Thread.sleep(5);
            }
        }
        System.out.println(kept.size());
    }
}
