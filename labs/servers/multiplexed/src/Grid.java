import com.hazelcast.client.HazelcastClient;
import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.config.Config;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.map.IMap;
import java.util.concurrent.ThreadLocalRandom;

/** One member of Hazelcast, and a client that reads and writes a map. */
public final class Grid {
    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[1]);
        if (args[0].equals("serve")) {
            serve(port);
        } else {
            ask(port, args);
        }
    }

    private static void serve(int port) throws Exception {
        Config config = new Config();
        config.getNetworkConfig().setPort(port).setPortAutoIncrement(false).getInterfaces().setEnabled(true).addInterface("127.0.0.1");
        config.getNetworkConfig().getJoin().getAutoDetectionConfig().setEnabled(false);
        config.getNetworkConfig().getJoin().getMulticastConfig().setEnabled(false);
        Hazelcast.newHazelcastInstance(config);
        Thread.currentThread().join();
    }

    private static void ask(int port, String[] args) throws Exception {
        ClientConfig config = new ClientConfig();
        config.getNetworkConfig().addAddress("127.0.0.1:" + port);
        HazelcastInstance client = HazelcastClient.newHazelcastClient(config);
        IMap<Integer, byte[]> map = client.getMap("lab");
        new Load().run(
                whenAnswered -> {
                    int key = ThreadLocalRandom.current().nextInt(10_000);
                    (key % 4 == 0 ? map.setAsync(key, new byte[500]) : map.getAsync(key)).whenComplete((value, failure) -> whenAnswered.run());
                },
                Double.parseDouble(args[2]), Double.parseDouble(args[3]), args[4]);
        System.exit(0);
    }
}
