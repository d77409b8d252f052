import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Producers that wait for each acknowledgement, as for payments, and a consumer. Writes how long each message took. */
public final class Traffic {
    private static final int BYTES = 1_000;

    public static void main(String[] args) throws Exception {
        Map<String, Object> config = Map.of("bootstrap.servers", args[0]);
        String topic = args.length > 4 ? args[4] : "orders";
        int writers = args.length > 5 ? Integer.parseInt(args[5]) : 8;
        double perSecond = Double.parseDouble(args[1]);
        long endNs = System.nanoTime() + (long) (Double.parseDouble(args[2]) * 1e9);
        try (Admin admin = Admin.create(config)) {
            admin.createTopics(List.of(new NewTopic(topic, writers, (short) 1))).all().get();
        }
        Thread reader = new Thread(() -> read(args[0], topic), "reader");
        reader.setDaemon(true);
        reader.start();
        ExecutorService producers = Executors.newFixedThreadPool(writers);
        try (PrintStream out = new PrintStream(Path.of(args[3]).toFile())) {
            out.println("start_ms,duration_ms,asked_ms");
            for (int partition = 0; partition < writers; partition++) {
                int own = partition;
                producers.execute(() -> write(args[0], topic, own, writers / perSecond, endNs, out));
            }
            producers.shutdown();
            producers.awaitTermination(1, TimeUnit.DAYS);
        }
        System.exit(0);
    }

    private static void write(String server, String topic, int partition, double everySeconds, long endNs, PrintStream out) {
        Map<String, Object> config = Map.of("bootstrap.servers", server, "acks", "all", "linger.ms", 0);
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            long due = System.nanoTime();
            while (due < endNs) {
                TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
                long asked = System.nanoTime();
                producer.send(new ProducerRecord<>(topic, partition, null, new byte[BYTES])).get();
                double askedMs = (System.nanoTime() - asked) / 1_000 / 1_000.0;
                double tookMs = (System.nanoTime() - due) / 1_000 / 1_000.0;
                out.println((System.currentTimeMillis() - (long) tookMs) + "," + tookMs + "," + askedMs);
                due = Math.max(due + (long) (everySeconds * 1e9), System.nanoTime() - 1_000_000_000);
            }
        } catch (Exception failure) {
            failure.printStackTrace();
        }
    }

    private static void read(String server, String topic) {
        Map<String, Object> config = Map.of("bootstrap.servers", server, "group.id", topic, "auto.offset.reset", "earliest");
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (true) {
                consumer.poll(Duration.ofMillis(500));
            }
        }
    }
}
