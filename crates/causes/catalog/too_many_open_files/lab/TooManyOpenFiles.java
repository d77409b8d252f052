import fathomlab.Lab;
import fathomlab.ToldClients;
import fathomlab.Work;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A service whose clients connect for each question. From the middle of the run on a report reads many small files, and leaves them open
 * until it is done.
 */
public final class TooManyOpenFiles {
    private static final int FILES = 1_000;
    private static final long REPORT_MS = 3_000;
    private static final long BETWEEN_REPORTS_MS = 3_000;
    /** Who accepts waits so long after a failure, as servers do. */
    private static final long BACK_OFF_MS = 50;

    private final Lab lab;
    private final int port;
    private final ToldClients clients;
    private final AtomicInteger notAccepted = new AtomicInteger();

    private TooManyOpenFiles(Lab lab) {
        this.lab = lab;
        port = (int) lab.number("port");
        clients = new ToldClients(port + 1);
    }

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        TooManyOpenFiles service = new TooManyOpenFiles(lab);
        lab.note("not_accepted", service.notAccepted);
        ServerSocket server = new ServerSocket(service.port, 200, InetAddress.getLoopbackAddress());
        Lab.start("acceptor", () -> service.acceptForever(server));
        Path part = Files.write(Path.of(lab.text("part")), new byte[100]);
        // What it needs is loaded while there is room for it.
        service.report(part, 2);
        lab.onPhase("after", () -> lab.onEnd(service.reports(part)));
        lab.run(request -> service.clients.letAsk(new byte[1]));
    }

    private void acceptForever(ServerSocket server) throws Exception {
        while (true) {
            try {
                Socket socket = server.accept();
                Lab.start("server", () -> answer(socket));
            } catch (IOException tooManyOpenFiles) {
                notAccepted.incrementAndGet();
                TimeUnit.MILLISECONDS.sleep(BACK_OFF_MS);
            }
        }
    }

    private static void answer(Socket socket) throws IOException {
        try (socket) {
            Work.spin(200_000, socket.getInputStream().read());
            socket.getOutputStream().write(1);
        }
    }

    /** Begins with the reports, and gives what ends them and closes what they have open. */
    private Runnable reports(Path part) {
        Thread reports = Lab.start("report", () -> reportForever(part));
        return () -> {
            reports.interrupt();
            while (reports.isAlive()) {
                Thread.yield();
            }
        };
    }

    private void reportForever(Path part) throws InterruptedException {
        while (true) {
            report(part, FILES);
            TimeUnit.MILLISECONDS.sleep(BETWEEN_REPORTS_MS);
        }
    }

    /** Where no file can be opened it tries again, until its time is over. */
    private void report(Path part, int files) throws InterruptedException {
        long endsNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(REPORT_MS);
        boolean closesEach = lab.text("files").equals("closed");
        List<InputStream> open = new ArrayList<>();
        try {
            for (int tried = 0; tried < files && System.nanoTime() - endsNs < 0; tried += read(part, open)) {
                TimeUnit.MILLISECONDS.sleep(1);
                if (closesEach) {
                    open.forEach(TooManyOpenFiles::close);
                    open.clear();
                }
            }
        } finally {
            open.forEach(TooManyOpenFiles::close);
        }
    }

    private static int read(Path part, List<InputStream> open) {
        try {
            InputStream in = Files.newInputStream(part);
            open.add(in);
            return in.read() < 0 ? 0 : 1;
        } catch (IOException tooManyOpenFiles) {
            return 0;
        }
    }

    private static void close(InputStream in) {
        try {
            in.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
