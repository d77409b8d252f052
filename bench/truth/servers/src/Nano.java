// org.nanohttpd:nanohttpd:2.3.1
import fi.iki.elonen.NanoHTTPD;
import java.io.ByteArrayInputStream;

/** A thread for each connection. */
public final class Nano extends NanoHTTPD {
    private Nano(int port) {
        super(port);
    }

    public static void main(String[] args) throws Exception {
        new Nano(Integer.parseInt(args[0])).start(60_000, false);
    }

    @Override
    public Response serve(IHTTPSession session) {
        try {
            byte[] page = Work.answer(session.getUri());
            return newFixedLengthResponse(Response.Status.OK, "text/plain", new ByteArrayInputStream(page), page.length);
        } catch (Exception failed) {
            return newFixedLengthResponse(Response.Status.INTERNAL_ERROR, "text/plain", failed.toString());
        }
    }
}
