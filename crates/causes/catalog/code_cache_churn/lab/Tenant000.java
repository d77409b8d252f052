import java.util.Iterator;
import java.util.Map;

/**
 * The template of all tenants' rules. Each rule is written the way rule compilers write: long, with library calls that get
 * inlined into it, so that its compiled code is some ten kilobytes and no rule is inlined into another.
 */
final class Tenant000 implements Rules {
    @Override
    public long price(Order order) {
        return listPrice(order) + discounts(order) + shipping(order) + salesTax(order);
    }

    private static long listPrice(Order order) {
        long total = 0;
        StringBuilder trace = new StringBuilder(64);
        for (int line = 0; line < order.articles.size(); line++) {
            String article = order.articles.get(line);
            Integer price = order.prices.get(article);
            int quantity = order.quantities.get(line);
            if (price == null) {
                trace.append("no price: ").append(article);
            } else if (quantity > 12) {
                total += (long) price * quantity * 9 / 10;
                trace.append(article).append('*').append(quantity).append(" bulk ");
            } else if (quantity > 0) {
                total += (long) price * quantity;
                trace.append(article).append('=').append(price);
            } else {
                trace.append('-').append(line);
            }
        }
        return total + trace.length();
    }

    private static long discounts(Order order) {
        long total = 0;
        String best = "";
        Iterator<Integer> quantities = order.quantities.iterator();
        for (String article : order.articles) {
            int quantity = quantities.next();
            int dash = article.indexOf('-');
            int number = Integer.parseInt(article.substring(dash + 1));
            switch (number & 7) {
                case 0: total -= quantity * 3L; break;
                case 1: total -= quantity > 5 ? 20 : 0; break;
                case 2: total -= article.hashCode() & 31; break;
                case 3: total -= order.prices.getOrDefault(article, 0) / 50; break;
                case 4: total -= article.endsWith("4") ? 11 : 1; break;
                case 5: total -= Math.min(quantity, 9); break;
                default: total -= 1; break;
            }
            if (article.compareTo(best) > 0) {
                best = article;
            }
        }
        return total + best.length() + (best.startsWith("article-2") ? 2 : 0);
    }

    private static long shipping(Order order) {
        long weight = 0;
        StringBuilder label = new StringBuilder(48);
        for (int line = 0; line < order.articles.size(); line++) {
            String article = order.articles.get(line);
            int quantity = order.quantities.get(line);
            for (int i = 0; i < article.length(); i++) {
                char c = article.charAt(i);
                if (Character.isDigit(c)) {
                    weight += (c - '0') * (long) quantity;
                } else if (Character.isLetter(c)) {
                    label.append(Character.toUpperCase(c));
                } else {
                    label.append('_').append(quantity);
                }
            }
            if (label.length() > 40) {
                label.setLength(8);
                weight += label.indexOf("_");
            }
        }
        return weight > 100 ? 900 + weight : 500 + label.toString().hashCode() % 10;
    }

    private static long salesTax(Order order) {
        long tax = 0;
        for (Map.Entry<Integer, String> group : groups(order).entrySet()) {
            String articles = group.getValue();
            int rate = group.getKey() == 0 ? 7 : 19;
            int from = 0;
            int comma = articles.indexOf(',');
            while (comma >= 0) {
                Integer price = order.prices.get(articles.substring(from, comma));
                tax += price == null ? 0 : (long) price * rate / 100;
                from = comma + 1;
                comma = articles.indexOf(',', from);
            }
        }
        return tax;
    }

    private static Map<Integer, String> groups(Order order) {
        Map<Integer, String> groups = new java.util.TreeMap<>();
        for (int line = 0; line < order.articles.size(); line++) {
            String article = order.articles.get(line);
            Integer group = order.quantities.get(line) % 3;
            String soFar = groups.get(group);
            groups.put(group, soFar == null ? article + "," : soFar.concat(article).concat(","));
        }
        return groups;
    }
}
