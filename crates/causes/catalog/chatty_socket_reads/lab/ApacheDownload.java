import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;

/** Apache HttpClient 5 as it comes: connections are pooled. */
public final class ApacheDownload implements Download {
    private final CloseableHttpClient client = HttpClients.createDefault();
    private final String uri;

    public ApacheDownload(int port, int objectBytes) {
        uri = "http://127.0.0.1:" + port + "/" + objectBytes;
    }

    @Override
    public long get() throws Exception {
        return client.execute(new HttpGet(uri), response -> Download.drain(response.getEntity().getContent()));
    }
}
