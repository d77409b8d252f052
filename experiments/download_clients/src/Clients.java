import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import javax.net.ssl.SSLSocketFactory;
import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.SdkHttpConfigurationOption;
import software.amazon.awssdk.http.apache5.Apache5HttpClient;
import software.amazon.awssdk.http.crt.AwsCrtHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.utils.AttributeMap;

/** The clients that are compared, each as it comes. All of them keep their connection and hand out a stream. */
final class Clients {
    private static final int BUFFER = 64 * 1024;
    /** What the client of the lab `chatty_socket_reads` takes at a time: Fathom must name this one. */
    private static final int SMALL_BUFFER = 42;
    /** More than the server's head, which it sends at once. */
    private static final int HEAD = 256;

    private Clients() {}

    /** Downloads an object and throws its bytes away. */
    interface Download {
        long get() throws Exception;
    }

    static Download by(String name, String origin, int bytes) throws Exception {
        URI uri = URI.create(origin + "/objects/" + bytes);
        switch (name) {
            case "socket":
                return socket(uri, bytes, BUFFER);
            case "small_reads":
                return socket(uri, bytes, SMALL_BUFFER);
            case "jdk":
                HttpClient jdk = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
                HttpRequest request = HttpRequest.newBuilder(uri).build();
                return () -> drain(jdk.send(request, HttpResponse.BodyHandlers.ofInputStream()).body());
            case "apache":
                CloseableHttpClient apache = HttpClients.createDefault();
                return () -> apache.execute(new HttpGet(uri), response -> drain(response.getEntity().getContent()));
            case "aws":
                return s3(Apache5HttpClient.builder().buildWithDefaults(trusting()), origin, bytes);
            case "aws_crt":
                return s3(AwsCrtHttpClient.builder().buildWithDefaults(trusting()), origin, bytes);
            default:
                throw new IllegalArgumentException(name);
        }
    }

    /** HTTP by hand over one connection, read into one buffer. */
    private static Download socket(URI uri, int bytes, int bufferBytes) throws IOException {
        InetAddress host = InetAddress.getByName(uri.getHost());
        Socket socket = uri.getScheme().equals("https")
            ? SSLSocketFactory.getDefault().createSocket(host, uri.getPort())
            : new Socket(host, uri.getPort());
        byte[] request = ("GET " + uri.getPath() + " HTTP/1.1\r\nHost: localhost\r\n\r\n").getBytes(StandardCharsets.ISO_8859_1);
        byte[] head = new byte[HEAD];
        byte[] buffer = new byte[bufferBytes];
        return () -> {
            socket.getOutputStream().write(request);
            int got = socket.getInputStream().read(head);
            int body = new String(head, 0, got, StandardCharsets.ISO_8859_1).indexOf("\r\n\r\n") + 4;
            long left = bytes - (got - body);
            while (left > 0) {
                int read = socket.getInputStream().read(buffer);
                if (read < 0) {
                    throw new IOException("the server hung up");
                }
                left -= read;
            }
            return bytes;
        };
    }

    private static Download s3(SdkHttpClient http, String origin, int bytes) {
        S3Client client = S3Client.builder()
            .httpClient(http)
            .endpointOverride(URI.create(origin))
            .forcePathStyle(true)
            .region(Region.US_EAST_1)
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test")))
            .build();
        GetObjectRequest request = GetObjectRequest.builder().bucket("objects").key(Integer.toString(bytes)).build();
        return () -> drain(client.getObject(request));
    }

    /** The server's certificate is made for the run; the library of the CRT does not know the JVM's trust store. */
    private static AttributeMap trusting() {
        return AttributeMap.builder().put(SdkHttpConfigurationOption.TRUST_ALL_CERTIFICATES, true).build();
    }

    private static long drain(InputStream in) throws IOException {
        byte[] buffer = new byte[BUFFER];
        long bytes = 0;
        try (in) {
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                bytes += read;
            }
        }
        return bytes;
    }
}
