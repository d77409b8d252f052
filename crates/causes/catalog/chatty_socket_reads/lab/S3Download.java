import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;

/** The AWS SDK's blocking S3 client as it comes, which uses Apache HttpClient 4.5. */
public final class S3Download implements Download {
    private final S3Client client;
    private final GetObjectRequest request;

    public S3Download(int port, int objectBytes) {
        client = S3.client(S3Client.builder(), port);
        request = S3.object(objectBytes);
    }

    @Override
    public long get() throws Exception {
        return Download.drain(client.getObject(request));
    }
}
