import java.net.URI;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;

/** The AWS SDK's blocking S3 client as it comes, which uses Apache HttpClient 4.5. */
public final class S3Download implements Download {
    private final S3Client client;
    private final GetObjectRequest request;

    public S3Download(int port, int objectBytes) {
        // Any key does: the server looks at none.
        AwsBasicCredentials key = AwsBasicCredentials.create("nobody", "nothing");
        client = S3Client.builder()
            .endpointOverride(URI.create("http://127.0.0.1:" + port))
            .forcePathStyle(true)
            .region(Region.US_EAST_1)
            .credentialsProvider(StaticCredentialsProvider.create(key))
            .build();
        request = GetObjectRequest.builder().bucket("objects").key(Integer.toString(objectBytes)).build();
    }

    @Override
    public long get() throws Exception {
        return Download.drain(client.getObject(request));
    }
}
