import java.nio.ByteBuffer;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.AsyncConnection;
import org.apache.hadoop.hbase.client.AsyncTable;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.master.HMaster;
import org.apache.hadoop.hbase.util.Bytes;

/** HBase standalone (master, region server and ZooKeeper in one process), and a client that reads and writes rows. */
public final class Rows {
    private static final TableName TABLE = TableName.valueOf("lab");
    private static final byte[] FAMILY = Bytes.toBytes("f");
    private static final int ROWS = 10_000;

    public static void main(String[] args) throws Exception {
        if (args[0].equals("serve")) {
            HMaster.main(new String[] {"start"});
            return;
        }
        Configuration config = HBaseConfiguration.create();
        try (Connection connection = ConnectionFactory.createConnection(config); Admin admin = connection.getAdmin()) {
            if (!admin.tableExists(TABLE)) {
                admin.createTable(TableDescriptorBuilder.newBuilder(TABLE).setColumnFamily(ColumnFamilyDescriptorBuilder.of(FAMILY)).build());
            }
        }
        AsyncConnection connection = ConnectionFactory.createAsyncConnection(config).get();
        AsyncTable<?> table = connection.getTable(TABLE);
        new Load().run(
                whenAnswered -> {
                    int row = ThreadLocalRandom.current().nextInt(ROWS);
                    byte[] key = ByteBuffer.allocate(4).putInt(row).array();
                    (row % 4 == 0 ? table.put(new Put(key).addColumn(FAMILY, FAMILY, new byte[500])) : table.get(new Get(key)))
                            .whenComplete((result, failure) -> whenAnswered.run());
                },
                Double.parseDouble(args[2]), Double.parseDouble(args[3]), args[4]);
        System.exit(0);
    }
}
