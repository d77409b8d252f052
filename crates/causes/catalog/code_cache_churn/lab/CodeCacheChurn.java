import fathomlab.Lab;
import java.io.InputStream;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.lang.invoke.MethodHandles;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Prices orders by rules that exist as one generated class per tenant. A few tenants are busy at a time. While they stay
 * the same, their compiled rules fit into the code cache; once the busy tenants change every second, the service wants the
 * compiled code of all of them. Where that does not fit, it is thrown away and compiled again for as long as it lasts.
 */
public final class CodeCacheChurn {
    private static final String TEMPLATE = "Tenant000";
    /** A method is handed to the best compiler after at most 15 000 calls and loop iterations. */
    private static final int ENOUGH_ORDERS = 15_000;
    private static final long QUIET_NS = 50_000_000;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int tenants = (int) lab.number("tenants");
        int busy = (int) lab.number("busy_tenants");
        long turnNs = lab.number("turn_ms") * 1_000_000;
        int orders = (int) lab.number("orders_per_request");
        Rules[] rules = generate(tenants);
        compileAll(rules);

        long[] rotationStartNs = new long[1];
        lab.onPhase("after", () -> rotationStartNs[0] = System.nanoTime());
        lab.note("tenants", tenants);
        lab.note("busy_tenants", busy);
        lab.note("busy_set_changes_every_ms", lab.number("turn_ms"));
        lab.run(request -> {
            long turn = lab.in("after") ? 1 + (System.nanoTime() - rotationStartNs[0]) / turnNs : 0;
            long first = turn * busy;
            int tenant = (int) ((first + ThreadLocalRandom.current().nextInt(busy)) % tenants);
            price(rules[tenant], orders, request);
        });
    }

    private static long price(Rules rules, int orders, long seed) {
        long sum = 0;
        for (int i = 0; i < orders; i++) {
            sum += rules.price(new Order(seed + i));
        }
        return sum;
    }

    /**
     * Before any request, one tenant after the other: its rules are busy until the compiler has done its best with them,
     * as in a service that has run for hours. What happens later is then no warm-up any more. The rules must stay busy
     * while they wait for the compiler: it drops requests for methods that have become idle.
     */
    private static void compileAll(Rules[] rules) {
        CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
        for (Rules tenant : rules) {
            long spentMs = -1;
            long lastCompilationNs = System.nanoTime();
            for (int orders = 0; orders < ENOUGH_ORDERS || System.nanoTime() - lastCompilationNs < QUIET_NS; orders++) {
                price(tenant, 1, orders);
                if (compiler.getTotalCompilationTime() != spentMs) {
                    spentMs = compiler.getTotalCompilationTime();
                    lastCompilationNs = System.nanoTime();
                }
            }
        }
    }

    /** One class per tenant, as a template engine or a rule compiler would make them: same shape, other name. */
    private static Rules[] generate(int tenants) throws Exception {
        byte[] template;
        try (InputStream in = CodeCacheChurn.class.getResourceAsStream(TEMPLATE + ".class")) {
            template = in.readAllBytes();
        }
        Rules[] rules = new Rules[tenants];
        for (int i = 0; i < tenants; i++) {
            String name = String.format("Tenant%03d", i + 1);
            Class<?> type = MethodHandles.lookup().defineClass(renamed(template, name));
            rules[i] = (Rules) type.getDeclaredConstructor().newInstance();
        }
        return rules;
    }

    /** The new name has the length of the old one: replacing its bytes leaves a valid class file. */
    private static byte[] renamed(byte[] classFile, String name) {
        String text = new String(classFile, StandardCharsets.ISO_8859_1);
        return text.replace(TEMPLATE, name).getBytes(StandardCharsets.ISO_8859_1);
    }
}
