import java.net.URI;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3BaseClientBuilder;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;

/** What both clients of the AWS SDK are told: a server on this machine, which looks at no key. */
final class S3 {
    private S3() {}

    static <B extends S3BaseClientBuilder<B, C>, C> C client(B builder, int port) {
        return builder
            .endpointOverride(URI.create("http://127.0.0.1:" + port))
            .forcePathStyle(true)
            .region(Region.US_EAST_1)
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("nobody", "nothing")))
            .build();
    }

    static GetObjectRequest object(int bytes) {
        return GetObjectRequest.builder().bucket("objects").key(Integer.toString(bytes)).build();
    }
}
