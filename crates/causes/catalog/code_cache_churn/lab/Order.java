import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** An order with a few lines, and the price list it is priced from. */
final class Order {
    static final int LINES = 6;
    static final Map<String, Integer> PRICES = prices();

    final List<String> articles = new ArrayList<>();
    final List<Integer> quantities = new ArrayList<>();
    final Map<String, Integer> prices = PRICES;

    Order(long seed) {
        for (int line = 0; line < LINES; line++) {
            long mixed = (seed + line) * 0x9E3779B97F4A7C15L;
            articles.add("article-" + (mixed >>> 56));
            quantities.add((int) (mixed >>> 40 & 15));
        }
    }

    private static Map<String, Integer> prices() {
        Map<String, Integer> prices = new HashMap<>();
        for (int i = 0; i < 256; i++) {
            prices.put("article-" + i, 100 + i * 7);
        }
        return prices;
    }
}
