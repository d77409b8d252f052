import fathomlab.Lab;
import fathomlab.Loopback;
import fathomlab.Work;
import java.net.Socket;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * A service on virtual threads whose requests ask another process. From the middle of the run on reports compute for a tenth of a second each,
 * on virtual threads as well or on one of the platform's.
 */
public final class CarrierThreadsExhausted {
    private static final long BETWEEN_REPORTS_MS = 5;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int port = (int) lab.number("port");
        ThreadFactory virtual = Thread.ofVirtual().factory();
        ThreadFactory ofReports = lab.text("reports").equals("virtual") ? virtual : Thread::new;
        ThreadLocal<Socket> kept = Loopback.connections(port);
        int report = Work.stepsFor(TimeUnit.MILLISECONDS.toNanos(100));
        Loopback.await(port);
        lab.onPhase("after", () -> Lab.start(ofReports, "reports", () -> reportForever(report)));
        lab.run(request -> {
            Work.spin(200_000, request);
            Socket socket = kept.get();
            socket.getOutputStream().write(1);
            socket.getInputStream().read();
        }, virtual);
    }

    private static void reportForever(int steps) throws InterruptedException {
        for (int number = 1; ; number++) {
            Work.spin(steps, number);
            TimeUnit.MILLISECONDS.sleep(BETWEEN_REPORTS_MS);
        }
    }
}
