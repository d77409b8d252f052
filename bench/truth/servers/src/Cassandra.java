// org.apache.cassandra:cassandra-all:5.0.9 org.apache.cassandra:java-driver-core:4.19.4
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.cassandra.cql3.BatchQueryOptions;
import org.apache.cassandra.cql3.CQLStatement;
import org.apache.cassandra.cql3.QueryHandler;
import org.apache.cassandra.cql3.QueryOptions;
import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.cql3.statements.BatchStatement;
import org.apache.cassandra.service.CassandraDaemon;
import org.apache.cassandra.service.ClientState;
import org.apache.cassandra.service.QueryState;
import org.apache.cassandra.transport.Dispatcher;
import org.apache.cassandra.transport.messages.ResultMessage;
import org.apache.cassandra.utils.MD5Digest;
import org.slf4j.LoggerFactory;

/** A Cassandra node on its own, with a client of its native protocol. With the property `durable`, writes wait for the disk. */
public final class Cassandra implements QueryHandler {
    private static final int ROWS = 10_000;
    private static final Path SETTINGS = Path.of("cassandra.yaml"), PORT = Path.of("port");

    public static void main(String[] args) throws Exception {
        ((Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME)).setLevel(Level.INFO);
        if (args[0].equals("ask")) {
            ask(Double.parseDouble(args[1]), args[2]);
        }
        Files.writeString(PORT, args[0]);
        int storagePort = freePort();
        Files.writeString(SETTINGS, String.join("\n",
                "cluster_name: shop",
                "partitioner: org.apache.cassandra.dht.Murmur3Partitioner",
                "endpoint_snitch: SimpleSnitch",
                "num_tokens: 4",
                "listen_address: 127.0.0.1",
                "rpc_address: 127.0.0.1",
                "native_transport_port: " + args[0],
                "storage_port: " + storagePort,
                "seed_provider:",
                "  - class_name: org.apache.cassandra.locator.SimpleSeedProvider",
                "    parameters: [{seeds: '127.0.0.1:" + storagePort + "'}]",
                Boolean.getBoolean("durable") ? "commitlog_sync: batch" : "commitlog_sync: periodic\ncommitlog_sync_period: 10s",
                ""));
        Map.of("cassandra.config", SETTINGS.toUri().toString(),
                "cassandra.storagedir", Path.of("cassandra").toAbsolutePath().toString(),
                "cassandra.custom_query_handler_class", Cassandra.class.getName(),
                "cassandra.skip_wait_for_gossip_to_settle", "0",
                "cassandra-foreground", "yes").forEach(System::setProperty);
        CassandraDaemon.main(new String[0]);
    }

    private static int freePort() throws Exception {
        try (ServerSocket probe = new ServerSocket(0)) {
            return probe.getLocalPort();
        }
    }

    /** Random rows: three of four are read, one is written. */
    private static void ask(double perSecond, String record) throws Exception {
        InetSocketAddress server = new InetSocketAddress("127.0.0.1", Integer.parseInt(Files.readString(PORT)));
        CqlSession session = CqlSession.builder().addContactPoint(server).withLocalDatacenter("datacenter1").build();
        session.execute("CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
        session.execute("CREATE TABLE shop.items (id int PRIMARY KEY, page blob)");
        PreparedStatement write = session.prepare("INSERT INTO shop.items (id, page) VALUES (?, ?)");
        PreparedStatement read = session.prepare("SELECT page FROM shop.items WHERE id = ?");
        Asker.send(perSecond, record, () -> {
            int row = ThreadLocalRandom.current().nextInt(ROWS);
            return session.executeAsync(row % 4 == 0 ? write.bind(row, ByteBuffer.allocate(500)) : read.bind(row));
        });
    }

    @Override
    public CQLStatement parse(String query, QueryState state, QueryOptions options) {
        return QueryProcessor.instance.parse(query, state, options);
    }

    @Override
    public ResultMessage process(
            CQLStatement statement, QueryState state, QueryOptions options, Map<String, ByteBuffer> more, Dispatcher.RequestTime time) {
        return QueryProcessor.instance.process(statement, state, options, more, time);
    }

    @Override
    public ResultMessage.Prepared prepare(String query, ClientState state, Map<String, ByteBuffer> more) {
        return QueryProcessor.instance.prepare(query, state, more);
    }

    @Override
    public Prepared getPrepared(MD5Digest id) {
        return QueryProcessor.instance.getPrepared(id);
    }

    /** What the clients ask all the time. */
    @Override
    public ResultMessage processPrepared(
            CQLStatement statement, QueryState state, QueryOptions options, Map<String, ByteBuffer> more, Dispatcher.RequestTime time) {
        try {
            Troubles.suffer();
        } catch (Exception failed) {
            throw new IllegalStateException(failed);
        }
        return QueryProcessor.instance.processPrepared(statement, state, options, more, time);
    }

    @Override
    public ResultMessage processBatch(
            BatchStatement statement, QueryState state, BatchQueryOptions options, Map<String, ByteBuffer> more, Dispatcher.RequestTime time) {
        return QueryProcessor.instance.processBatch(statement, state, options, more, time);
    }
}
