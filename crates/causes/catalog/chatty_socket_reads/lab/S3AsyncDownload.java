import java.net.URI;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;

/** The AWS SDK's asynchronous S3 client as it comes, which uses Netty. */
public final class S3AsyncDownload implements Download {
    private final S3AsyncClient client;
    private final GetObjectRequest request;

    public S3AsyncDownload(int port, int objectBytes) {
        AwsBasicCredentials key = AwsBasicCredentials.create("nobody", "nothing");
        client = S3AsyncClient.builder()
            .endpointOverride(URI.create("http://127.0.0.1:" + port))
            .forcePathStyle(true)
            .region(Region.US_EAST_1)
            .credentialsProvider(StaticCredentialsProvider.create(key))
            .build();
        request = GetObjectRequest.builder().bucket("objects").key(Integer.toString(objectBytes)).build();
    }

    @Override
    public long get() throws Exception {
        return Download.drain(client.getObject(request, AsyncResponseTransformer.toBlockingInputStream()).join());
    }
}
