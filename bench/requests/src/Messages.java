import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Messages to a broker, each acknowledged before the next. */
final class Messages {
    private Messages() {}

    /** One producer, with a connection of its own. */
    static Clients.Ask producer(int port) {
        Map<String, Object> config = Map.of("bootstrap.servers", "127.0.0.1:" + port, "acks", "1", "linger.ms", 0);
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
        return () -> producer.send(new ProducerRecord<>("bench", new byte[500])).get();
    }
}
