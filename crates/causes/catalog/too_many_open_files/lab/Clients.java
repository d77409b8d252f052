import fathomlab.Lab;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

/** Clients, in a process of their own: each is told by a datagram to connect and ask, and says in the same way that it has the answer. */
public final class Clients {
    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        for (int number = 1; number < Integer.parseInt(args[1]); number++) {
            int own = port + 1 + number;
            Lab.start("client-" + number, () -> askWhenTold(port, own));
        }
        askWhenTold(port, port + 1);
    }

    private static void askWhenTold(int port, int own) throws IOException {
        DatagramSocket orders = new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), own));
        DatagramPacket order = new DatagramPacket(new byte[1], 1);
        while (true) {
            orders.receive(order);
            ask(port);
            orders.send(order);
        }
    }

    private static void ask(int port) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write(1);
            socket.getInputStream().read();
        }
    }
}
