import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/** Arguments: port, requests per second. Calls a service over gRPC all the time, and computes for some seconds of every 45 seconds. */
public final class BatchJob {
    private static final int REST_S = 39, WORK_S = 6;
    private static volatile int sink;

    public static void main(String[] args) throws Exception {
        Thread bills = new Thread(BatchJob::bill, "bills");
        bills.setDaemon(true);
        bills.start();
        String forever = "1e9";
        Grpc.main(new String[] {"ask", args[0], args[1], forever, "sent.csv"});
    }

    private static void bill() {
        Random amounts = new Random(1);
        while (true) {
            try {
                TimeUnit.SECONDS.sleep(REST_S);
            } catch (InterruptedException ended) {
                return;
            }
            long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(WORK_S);
            while (System.nanoTime() < until) {
                int[] sums = amounts.ints(10_000).toArray();
                Arrays.sort(sums);
                sink = sums[0];
            }
        }
    }
}
