import fathomlab.Lab;
import fathomlab.Work;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A service that looks up prices of articles, in a list or in a map. */
public final class ApplicationCode {
    private static final int LOOKUPS = 60;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int before = (int) lab.number("articles_before");
        int after = (int) lab.number("articles_after");
        Catalogue small = Catalogue.of(lab.text("kept"), before);
        Catalogue large = Catalogue.of(lab.text("kept"), after);
        lab.run(request -> {
            Work.spin(400_000, request);
            boolean isLarge = lab.in("after");
            long sum = 0;
            for (int i = 0; i < LOOKUPS; i++) {
                int article = Math.floorMod(request * 31 + i * 17, isLarge ? after : before);
                sum += (isLarge ? large : small).price("article-" + article);
            }
            Work.spin(1, sum);
        });
    }

    /** What there is to buy. */
    private interface Catalogue {
        long price(String name);

        static Catalogue of(String kept, int articles) {
            return kept.equals("list") ? new Searched(articles) : new Mapped(articles);
        }
    }

    /** Looks at one article after the other. */
    private static final class Searched implements Catalogue {
        private final List<String> names = new ArrayList<>();

        Searched(int articles) {
            for (int i = 0; i < articles; i++) {
                names.add("article-" + i);
            }
        }

        @Override
        public long price(String name) {
            for (int i = 0; i < names.size(); i++) {
                if (names.get(i).equalsIgnoreCase(name)) {
                    return i;
                }
            }
            throw new IllegalStateException(name);
        }
    }

    /** Knows where an article is. */
    private static final class Mapped implements Catalogue {
        private final Map<String, Integer> places = new HashMap<>();

        Mapped(int articles) {
            for (int i = 0; i < articles; i++) {
                places.put("article-" + i, i);
            }
        }

        @Override
        public long price(String name) {
            return places.get(name);
        }
    }
}
