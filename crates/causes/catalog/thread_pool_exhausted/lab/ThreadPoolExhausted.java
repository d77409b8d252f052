import fathomlab.Lab;
import fathomlab.Loopback;
import fathomlab.Work;
import java.io.IOException;
import java.net.Socket;
import java.util.Collections;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** A service that has a pool of threads ask another process, and waits for what they bring. Reports may use the same pool. */
public final class ThreadPoolExhausted {
    private static final int REPORTS_AT_ONCE = 8;
    private static final int QUESTIONS_OF_A_REPORT = 16;

    private final ThreadLocal<Socket> connection;

    private ThreadPoolExhausted(int port) {
        connection = Loopback.connections(port);
    }

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int port = (int) lab.number("port");
        Loopback.await(port);
        ThreadPoolExhausted service = new ThreadPoolExhausted(port);
        ExecutorService pool = Executors.newFixedThreadPool((int) lab.number("threads"));
        boolean isShared = lab.text("reports").equals("in_the_same_pool");
        ExecutorService reports = isShared ? pool : Executors.newFixedThreadPool(2);
        int parts = (int) lab.number("parts_after");
        if (lab.number("reports_every_ms") > 0) {
            lab.onPhase("after", () -> Lab.start("reports", () -> service.report(reports, lab.number("reports_every_ms"))));
        }
        lab.run(request -> {
            Work.spin(200_000, request);
            service.answer(pool, lab.in("after") ? parts : 1);
        });
    }

    /** All parts of an answer at once. */
    private void answer(ExecutorService pool, int parts) throws Exception {
        Callable<Integer> ask = this::ask;
        for (Future<Integer> part : pool.invokeAll(Collections.nCopies(parts, ask))) {
            part.get();
        }
    }

    private void report(ExecutorService pool, long everyMs) throws InterruptedException {
        while (true) {
            for (int i = 0; i < REPORTS_AT_ONCE; i++) {
                pool.submit(() -> {
                    for (int question = 0; question < QUESTIONS_OF_A_REPORT; question++) {
                        ask();
                    }
                    return null;
                });
            }
            TimeUnit.MILLISECONDS.sleep(everyMs);
        }
    }

    private int ask() throws IOException {
        Socket socket = connection.get();
        socket.getOutputStream().write(1);
        return socket.getInputStream().read();
    }
}
