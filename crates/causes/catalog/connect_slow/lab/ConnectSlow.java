import fathomlab.Lab;
import fathomlab.Loopback;
import fathomlab.Work;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;

/** A service that opens a connection for each question, or keeps one for each of its threads. */
public final class ConnectSlow {
    private final int port;
    private final ThreadLocal<Socket> kept;

    private ConnectSlow(int port) {
        this.port = port;
        kept = Loopback.connections(port);
    }

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        ConnectSlow service = new ConnectSlow((int) lab.number("port"));
        boolean keeps = lab.text("connections").equals("kept");
        Loopback.await(service.port);
        lab.onPhase("after", () -> Lab.start("pause", service::letItPause));
        lab.run(request -> {
            Work.spin(200_000, request);
            if (keeps) {
                ask(service.kept.get());
            } else {
                try (Socket socket = service.connect()) {
                    ask(socket);
                }
            }
        });
    }

    private Socket connect() throws IOException {
        return new Socket(InetAddress.getLoopbackAddress(), port);
    }

    private static void ask(Socket socket) throws IOException {
        socket.getOutputStream().write(1);
        socket.getInputStream().read();
    }

    private void letItPause() throws IOException {
        try (Socket socket = connect()) {
            socket.getOutputStream().write(Component.PAUSE_FROM_NOW_ON);
        }
    }
}
