package fathomlab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Clients of a service, in another process. A datagram makes each client ask, and the client reports its answer with a datagram, so
 * the latency is the client's. Each thread that sends orders has its own client, at the next port.
 */
public final class ToldClients {
    private static final int PATIENCE_MS = 20_000;

    private final AtomicInteger nextPort;
    private final ThreadLocal<Client> own = ThreadLocal.withInitial(this::next);

    public ToldClients(int firstPort) {
        nextPort = new AtomicInteger(firstPort);
    }

    /** Makes a client ask once and waits until it has the answer. Its reply is as long as the order. */
    public void letAsk(byte[] order) throws IOException {
        Client client = own.get();
        client.socket.send(new DatagramPacket(order, order.length, client.address));
        client.socket.receive(new DatagramPacket(new byte[order.length], order.length));
    }

    private Client next() {
        try {
            DatagramSocket socket = new DatagramSocket();
            socket.setSoTimeout(PATIENCE_MS);
            return new Client(socket, new InetSocketAddress(InetAddress.getLoopbackAddress(), nextPort.getAndIncrement()));
        } catch (IOException e) {
            throw new UncheckedIOException("no client", e);
        }
    }

    /**
     * The socket for orders. It is not connected: otherwise the wait for the client would look like a call of another service, slow
     * because this one is slow. Real clients ask on their own.
     */
    private static final class Client {
        private final DatagramSocket socket;
        private final SocketAddress address;

        private Client(DatagramSocket socket, SocketAddress address) {
            this.socket = socket;
            this.address = address;
        }
    }
}
