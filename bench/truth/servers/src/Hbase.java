// org.apache.hbase:hbase-server:2.6.4
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.AsyncTable;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.coprocessor.ObserverContext;
import org.apache.hadoop.hbase.coprocessor.RegionCoprocessor;
import org.apache.hadoop.hbase.coprocessor.RegionCoprocessorEnvironment;
import org.apache.hadoop.hbase.coprocessor.RegionObserver;
import org.apache.hadoop.hbase.master.HMaster;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.wal.WALEdit;

/** Master, region server and ZooKeeper in one process, with their own client: the software of the first story. */
public final class Hbase {
    private static final TableName TABLE = TableName.valueOf("rows");
    private static final byte[] FAMILY = Bytes.toBytes("f");
    private static final int ROWS = 10_000;
    private static final Path SITE = Path.of("hbase-site.xml");

    public static void main(String[] args) throws Exception {
        if (args[0].equals("ask")) {
            ask(Double.parseDouble(args[1]), args[2]);
        }
        Path here = Path.of("").toAbsolutePath();
        Map<String, Object> settings = new TreeMap<>(Map.of(
                "hbase.rootdir", "file://" + here.resolve("tables"),
                "hbase.tmp.dir", here.resolve("tmp"),
                "hbase.zookeeper.property.dataDir", here.resolve("zookeeper"),
                "hbase.zookeeper.property.clientPort", freePort(),
                "hbase.unsafe.stream.capability.enforce", false,
                "hbase.wal.provider", "filesystem",
                "hbase.master.info.port", -1,
                "hbase.regionserver.info.port", -1,
                "hbase.master.port", freePort(),
                "hbase.regionserver.port", args[0]));
        settings.put("hbase.coprocessor.user.region.classes", Customs.class.getName());
        settings.putAll(Map.of("hbase.zookeeper.quorum", "127.0.0.1", "hbase.master.hostname", "localhost", "hbase.regionserver.hostname", "localhost"));
        StringBuilder site = new StringBuilder("<configuration>\n");
        settings.forEach((key, value) -> site.append("<property><name>" + key + "</name><value>" + value + "</value></property>\n"));
        Files.writeString(SITE, site.append("</configuration>\n"));
        HMaster.main(new String[] {"start"});
    }

    private static int freePort() throws Exception {
        try (ServerSocket probe = new ServerSocket(0)) {
            return probe.getLocalPort();
        }
    }

    /** Random rows: three of four are read, one is written. */
    private static void ask(double perSecond, String record) throws Exception {
        Configuration config = HBaseConfiguration.create();
        try (Connection connection = ConnectionFactory.createConnection(config); Admin admin = connection.getAdmin()) {
            admin.createTable(TableDescriptorBuilder.newBuilder(TABLE).setColumnFamily(ColumnFamilyDescriptorBuilder.of(FAMILY)).build());
        }
        AsyncTable<?> table = ConnectionFactory.createAsyncConnection(config).get().getTable(TABLE);
        Asker.send(perSecond, record, () -> {
            int row = ThreadLocalRandom.current().nextInt(ROWS);
            byte[] key = ByteBuffer.allocate(4).putInt(row).array();
            return row % 4 == 0 ? table.put(new Put(key).addColumn(FAMILY, FAMILY, new byte[500])) : table.get(new Get(key));
        });
    }

    /** What is done in the server for each request. */
    public static final class Customs implements RegionCoprocessor, RegionObserver {
        @Override
        public Optional<RegionObserver> getRegionObserver() {
            return Optional.of(this);
        }

        @Override
        public void preGetOp(ObserverContext<RegionCoprocessorEnvironment> context, Get get, List<Cell> found) throws IOException {
            suffer();
        }

        @Override
        public void prePut(ObserverContext<RegionCoprocessorEnvironment> context, Put put, WALEdit edit) throws IOException {
            suffer();
        }

        private static void suffer() throws IOException {
            try {
                Troubles.suffer();
            } catch (Exception failed) {
                throw new IOException(failed);
            }
        }
    }
}
