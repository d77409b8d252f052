import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.services.s3.S3AsyncClient;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;

/** The AWS SDK's asynchronous S3 client as it comes, which uses Netty. */
public final class S3AsyncDownload implements Download {
    private final S3AsyncClient client;
    private final GetObjectRequest request;

    public S3AsyncDownload(int port, int objectBytes) {
        client = S3.client(S3AsyncClient.builder(), port);
        request = S3.object(objectBytes);
    }

    @Override
    public long get() throws Exception {
        return Download.drain(client.getObject(request, AsyncResponseTransformer.toBlockingInputStream()).join());
    }
}
