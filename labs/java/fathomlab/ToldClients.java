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
 * Clients of a service, in another process: each is told by a datagram when to ask, and says in the same way when it has the answer; so
 * the latency is the client's. Each thread that tells has a client of its own, at the next port.
 */
public final class ToldClients {
    private static final int PATIENCE_MS = 20_000;

    private final AtomicInteger nextPort;
    private final ThreadLocal<Client> own = ThreadLocal.withInitial(this::next);

    public ToldClients(int firstPort) {
        nextPort = new AtomicInteger(firstPort);
    }

    /** Lets a client ask once and waits until it has the answer. What it says is as long as the order. */
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
     * How a client is told. The socket is not connected, or the wait for the client would be a call of another service, which is slow
     * because this one is: real clients ask by themselves.
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
