import fathomlab.Lab;
import fathomlab.Work;
import java.net.InetAddress;

/** A service that looks up a host for each request. The name server turns slow in the middle of the run. */
public final class DnsSlow {
    private static final int HOSTS = 20;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        lab.onPhase("after", () -> Lab.start("turn", () -> InetAddress.getByName(NameServer.SLOW_FROM_NOW_ON)));
        lab.run(request -> {
            Work.spin(200_000, request);
            InetAddress.getByName("tenant-" + request % HOSTS + ".lab");
        });
    }
}
