// org.apache.zookeeper:zookeeper:3.9.5 org.slf4j:slf4j-simple:2.0.13 org.xerial.snappy:snappy-java:1.1.10.4 io.dropwizard.metrics:metrics-core:4.2.28
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.ZooKeeperServerMain;

/** A ZooKeeper server that stands alone: a thread for each step of all requests, and a log that is synced before a write is answered. */
public final class Zookeeper {
    private static final int SESSIONS = 4;
    private static final int NODES = 1000;
    private static final Path SETTINGS = Path.of("zoo.cfg"), PORT = Path.of("port");

    public static void main(String[] args) throws Exception {
        if (args[0].equals("ask")) {
            ask(Double.parseDouble(args[1]), args[2]);
        }
        Files.writeString(PORT, args[0]);
        Files.writeString(SETTINGS, "dataDir=zookeeper\nadmin.enableServer=false\nclientPortAddress=127.0.0.1\nclientPort=" + args[0] + "\n");
        ZooKeeperServerMain.main(new String[] {SETTINGS.toString()});
    }

    /** Random nodes: three of four are read, one is written. */
    private static void ask(double perSecond, String record) throws Exception {
        String server = "127.0.0.1:" + Files.readString(PORT);
        ZooKeeper[] sessions = new ZooKeeper[SESSIONS];
        for (int i = 0; i < SESSIONS; i++) {
            sessions[i] = new ZooKeeper(server, 30_000, event -> { });
        }
        // The port is open before the server answers.
        while (sessions[0].getState() != ZooKeeper.States.CONNECTED) {
            TimeUnit.MILLISECONDS.sleep(100);
        }
        for (int i = 0; i < NODES; i++) {
            sessions[0].create(node(i), new byte[500], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        }
        Asker.send(perSecond, record, () -> {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            return asked(sessions[random.nextInt(SESSIONS)], random.nextInt(NODES));
        });
    }

    private static CompletableFuture<Stat> asked(ZooKeeper session, int number) {
        CompletableFuture<Stat> answer = new CompletableFuture<>();
        if (number % 4 == 0) {
            session.setData(node(number), new byte[500], -1, (code, path, context, stat) -> complete(answer, code, stat), null);
        } else {
            session.getData(node(number), false, (code, path, context, data, stat) -> complete(answer, code, stat), null);
        }
        return answer;
    }

    private static void complete(CompletableFuture<Stat> answer, int code, Stat stat) {
        if (code == Code.OK.intValue()) {
            answer.complete(stat);
        } else {
            answer.completeExceptionally(new IllegalStateException(Code.get(code).toString()));
        }
    }

    private static String node(int number) {
        return "/item" + number;
    }
}
