import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/**
 * Downloads one object after the other by one client: until it is warm; then it waits for a line on its standard input, downloads for
 * the measured time, and prints what it saw as JSON. CPU is the whole JVM's.
 */
public final class Downloads {
    private Downloads() {}

    public static void main(String[] args) throws Exception {
        Clients.Download client = Clients.by(args[0], args[1], Integer.parseInt(args[2]));
        repeat(client, Double.parseDouble(args[3]));
        System.out.println("warm");
        System.in.read();
        long startMs = System.currentTimeMillis();
        long cpuNs = cpuNs();
        List<Long> took = repeat(client, Double.parseDouble(args[4]));
        long endCpuNs = cpuNs();
        double mb = took.size() * Double.parseDouble(args[2]) / 1e6;
        took.sort(null);
        System.out.printf(
            "{\"start_ms\": %d, \"end_ms\": %d, \"downloads\": %d, \"mb\": %f, \"cpu_ms\": %f, \"p50_ms\": %f, \"p99_ms\": %f}%n",
            startMs, System.currentTimeMillis(), took.size(), mb, (endCpuNs - cpuNs) / 1e6, at(took, 0.5), at(took, 0.99));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static double at(List<Long> sorted, double share) {
        return sorted.get((int) Math.min(sorted.size() - 1, Math.floor(share * sorted.size()))) / 1e6;
    }

    private static List<Long> repeat(Clients.Download client, double seconds) throws Exception {
        List<Long> took = new ArrayList<>();
        long began = System.nanoTime();
        do {
            long from = System.nanoTime();
            client.get();
            took.add(System.nanoTime() - from);
        } while (System.nanoTime() - began < seconds * 1e9);
        return took;
    }

    private static long cpuNs() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }
}
