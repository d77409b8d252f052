import fathomlab.Lab;
import fathomlab.Loopback;
import fathomlab.Work;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericObjectPool;

/** A service that borrows connections from a pool of Apache Commons, and that may forget to give them back. */
public final class ConnectionPoolExhausted {
    /** A request that fails. */
    private static final class Failed extends Exception {}

    private final GenericObjectPool<Socket> pool;
    private final Lab lab;
    private final long failsEvery;
    private int leaked;

    private ConnectionPoolExhausted(Lab lab) {
        this.lab = lab;
        failsEvery = lab.number("fails_every");
        pool = new GenericObjectPool<>(new Connections((int) lab.number("port")));
        pool.setMaxTotal((int) lab.number("connections"));
        pool.setMaxIdle((int) lab.number("connections"));
    }

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        Loopback.await((int) lab.number("port"));
        ConnectionPoolExhausted service = new ConnectionPoolExhausted(lab);
        boolean always = lab.text("gives_back").equals("always");
        lab.onEnd(() -> lab.note("leaked", service.leaked));
        lab.run(request -> {
            Work.spin(200_000, request);
            service.ask(request, always);
        });
    }

    private void ask(int request, boolean always) throws Exception {
        Socket connection = pool.borrowObject();
        boolean isDone = false;
        try {
            failIfDue(request);
            connection.getOutputStream().write(1);
            connection.getInputStream().read();
            isDone = true;
        } catch (Failed failed) {
            // Its client is told so.
        } finally {
            if (isDone || always || !mayLeak()) {
                pool.returnObject(connection);
            }
        }
    }

    private void failIfDue(int request) throws Failed {
        if (lab.in("after") && request % failsEvery == 0) {
            throw new Failed();
        }
    }

    /** All but the last one: a service that hangs for ever has no latency. */
    private synchronized boolean mayLeak() {
        if (leaked == pool.getMaxTotal() - 1) {
            return false;
        }
        leaked++;
        return true;
    }

    /** Makes the connections of the pool. */
    private static final class Connections extends BasePooledObjectFactory<Socket> {
        private final int port;

        Connections(int port) {
            this.port = port;
        }

        @Override
        public Socket create() throws IOException {
            Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setTcpNoDelay(true);
            return socket;
        }

        @Override
        public PooledObject<Socket> wrap(Socket socket) {
            return new DefaultPooledObject<>(socket);
        }
    }
}
