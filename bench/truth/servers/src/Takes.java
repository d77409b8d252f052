// org.takes:takes:1.24.4
import org.takes.http.Exit;
import org.takes.http.FtBasic;
import org.takes.http.BkBasic;
import org.takes.http.BkParallel;
import org.takes.rq.RqHref;
import org.takes.rs.RsWithBody;

/** A pool of threads that each take a connection, answer one request and close it. */
public final class Takes {
    public static void main(String[] args) throws Exception {
        new FtBasic(
                new BkParallel(new BkBasic(request -> new RsWithBody(Work.answer(new RqHref.Base(request).href().path()))), 16),
                Integer.parseInt(args[0])).start(Exit.NEVER);
    }
}
