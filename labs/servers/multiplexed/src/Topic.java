import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A producer that does not wait for acknowledgements before it sends more; the broker is started as its own distribution does. */
public final class Topic {
    private static final int PARTITIONS = 8;

    public static void main(String[] args) throws Exception {
        String server = "127.0.0.1:" + args[1];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", (Object) server))) {
            admin.createTopics(List.of(new NewTopic("lab", PARTITIONS, (short) 1))).all().get();
        }
        Map<String, Object> config = Map.of("bootstrap.servers", server, "acks", "all", "linger.ms", 0);
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
        new Load(() -> sent(producer)).run(
                whenAnswered -> {
                    int partition = ThreadLocalRandom.current().nextInt(PARTITIONS);
                    producer.send(new ProducerRecord<>("lab", partition, null, new byte[500]), (metadata, failure) -> whenAnswered.run());
                },
                Double.parseDouble(args[2]), Double.parseDouble(args[3]), args[4]);
        System.exit(0);
    }

    /** Requests to the broker until now: several messages may be in one. */
    private static long sent(KafkaProducer<byte[], byte[]> producer) {
        for (Metric metric : producer.metrics().values()) {
            if (metric.metricName().name().equals("request-total") && metric.metricName().group().equals("producer-metrics")) {
                return ((Number) metric.metricValue()).longValue();
            }
        }
        return 0;
    }
}
