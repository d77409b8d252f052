import fathomlab.Copies;
import fathomlab.Lab;
import java.lang.invoke.MethodHandles;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Prices orders by rules that exist as one generated class per tenant. A few tenants are busy at a time. While they stay
 * the same, their compiled rules fit into the code cache; once the busy tenants change several times a second, the service wants the
 * compiled code of all of them. Where that does not fit, it is thrown away and compiled again for as long as it lasts.
 */
public final class CodeCacheChurn {
    /** The best compiler takes a method after 5 000 calls. */
    private static final int ENOUGH_ORDERS = 6_000;
    /** So long without a compilation means that the compiler is done with a tenant that has had enough orders. */
    private static final long DONE_NS = 80_000_000;
    /** So long without a compilation means that the compiler has been switched off. */
    private static final long GIVE_UP_NS = 200_000_000;

    public static void main(String[] args) throws Throwable {
        Lab lab = Lab.of(args);
        int tenants = (int) lab.number("tenants");
        int busy = (int) lab.number("busy_tenants");
        long turnNs = lab.number("turn_ms") * 1_000_000;
        int orders = (int) lab.number("orders_per_request");
        Rules[] rules = generate(tenants);
        if (lab.text("rules_compiled").equals("while_recorded")) {
            // The start of a recorder may throw away what was compiled before.
            lab.awaitRecorder();
        }
        compileAll(Arrays.copyOf(rules, (int) lab.number("tenants_compiled_before")));

        lab.note("tenants", tenants);
        lab.note("busy_tenants", busy);
        lab.note("busy_set_changes_every_ms", lab.number("turn_ms"));
        lab.run(request -> {
            long turn = lab.in("after") ? 1 + lab.nsIn("after") / turnNs : 0;
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
     * Before any request, one old tenant after the other: its rules are busy until the compiler has done its best with them,
     * as in a service that has run for hours. What happens later is then no warm-up any more. The rules must stay busy
     * while they wait for the compiler: it drops requests for methods that have become idle.
     */
    private static void compileAll(Rules[] rules) {
        CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
        for (Rules tenant : rules) {
            long spentMs = -1;
            long lastCompilationNs = System.nanoTime();
            long quietNs = 0;
            for (int orders = 0; quietNs < (orders < ENOUGH_ORDERS ? GIVE_UP_NS : DONE_NS); orders++) {
                price(tenant, 1, orders);
                long now = System.nanoTime();
                if (compiler.getTotalCompilationTime() != spentMs) {
                    spentMs = compiler.getTotalCompilationTime();
                    lastCompilationNs = now;
                }
                quietNs = now - lastCompilationNs;
            }
        }
    }

    private static Rules[] generate(int tenants) throws Throwable {
        Object[] copies = Copies.of(MethodHandles.lookup(), "Tenant000", tenants);
        return Arrays.copyOf(copies, copies.length, Rules[].class);
    }
}
