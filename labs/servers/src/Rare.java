import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.util.concurrent.DefaultEventExecutorGroup;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A service on one of three servers. While something is wrong, one request in a hundred takes 50 ms. */
public final class Rare {
    private static final int ONE_OF = 100;
    private static final int SLOW_MS = 50;

    private final Object report = new Object();
    private final int pricesPort;
    private volatile String trouble = "";
    private volatile double result;

    private Rare(int pricesPort) {
        this.pricesPort = pricesPort;
    }

    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[1]);
        Rare service = new Rare(Integer.parseInt(args[2]));
        int port = switch (args[0]) {
            case "tomcat" -> Servers.onTomcat(folder, service::answer);
            case "netty" -> service.onNetty();
            case "jdk" -> Servers.onJdk(service::answer);
            default -> throw new IllegalArgumentException(args[0]);
        };
        Files.writeString(folder.resolve("port"), Integer.toString(port));
        Thread.currentThread().join();
    }

    /** Answers `/order?id=7`. `/trouble?name=lock` starts a fault, and without a name ends it. */
    private String answer(URI uri) {
        String value = Servers.value(uri);
        if (uri.getPath().equals("/trouble")) {
            begin(value);
            return "ok";
        }
        int id = Integer.parseInt(value);
        try {
            if (id % ONE_OF == 0) {
                suffer(id);
            }
        } catch (IOException | InterruptedException failure) {
            return failure.toString();
        }
        return Servers.page(id);
    }

    private void begin(String name) {
        trouble = name;
        if (name.equals("lock")) {
            Thread job = new Thread(this::reportForEver, "report");
            job.setDaemon(true);
            job.start();
        }
    }

    private void suffer(int id) throws IOException, InterruptedException {
        switch (trouble) {
            case "lock" -> readReport();
            case "call" -> Prices.ask(pricesPort, id);
            case "sleep" -> TimeUnit.MILLISECONDS.sleep(SLOW_MS);
            case "cpu" -> result = interest();
            default -> { }
        }
    }

    private void readReport() {
        synchronized (report) {
            result++;
        }
    }

    /** A job that keeps the report locked for nearly all of the time. */
    private void reportForEver() {
        while (trouble.equals("lock")) {
            synchronized (report) {
                pause(SLOW_MS * 2L);
            }
            pause(1);
        }
    }

    private static void pause(long ms) {
        try {
            TimeUnit.MILLISECONDS.sleep(ms);
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private static double interest() {
        long endNs = System.nanoTime() + SLOW_MS * 1_000_000L;
        double sum = 0;
        while (System.nanoTime() < endNs) {
            for (int year = 1; year < 1_000; year++) {
                sum += Math.log(year) / Math.sqrt(sum + year);
            }
        }
        return sum;
    }

    /** Event loops read and write; workers answer. */
    private int onNetty() throws InterruptedException {
        DefaultEventExecutorGroup workers = new DefaultEventExecutorGroup(Servers.WORKERS);
        return Servers.onNetty(new NioEventLoopGroup(2), workers, uri -> CompletableFuture.completedFuture(answer(uri)));
    }
}
