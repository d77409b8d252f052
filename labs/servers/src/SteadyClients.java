import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** Clients of a healthy service: `KIND PORT`, with a fixed number for each kind. They run until they are killed. */
public final class SteadyClients {
    private static final int CONNECTIONS = 10_000;

    private SteadyClients() {}

    public static void main(String[] args) {
        URI service = URI.create("http://127.0.0.1:" + args[1] + "/" + args[0]);
        switch (args[0]) {
            case "http2" -> start(12, http(HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build(), service, 10));
            case "websocket" -> start(20, () -> talk(URI.create("ws" + service.toString().substring(4))));
            case "longpoll", "streaming" -> start(20, http(HttpClient.newHttpClient(), service, 1));
            case "many" -> start(1, () -> askByMany(service));
            case "idle" -> start(1, http(HttpClient.newHttpClient(), service, 4_000));
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static void start(int count, Runnable client) {
        for (int index = 0; index < count; index++) {
            new Thread(client).start();
        }
    }

    /** Sends requests with pauses of some ms on average. All threads share the client's connections. */
    private static Runnable http(HttpClient client, URI service, int pauseMs) {
        HttpRequest request = HttpRequest.newBuilder(service).build();
        return () -> {
            while (true) {
                try {
                    client.send(request, BodyHandlers.discarding());
                } catch (Exception failure) {
                    failure.printStackTrace();
                }
                Steady.pause(ThreadLocalRandom.current().nextInt(2 * pauseMs));
            }
        };
    }

    /** Sends requests over ten thousand connections in turn. */
    private static void askByMany(URI service) {
        byte[] question = ("GET " + service.getPath() + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").getBytes();
        List<Socket> connections = new ArrayList<>();
        try {
            while (connections.size() < CONNECTIONS) {
                connections.add(new Socket(service.getHost(), service.getPort()));
            }
            while (true) {
                Socket connection = connections.get(ThreadLocalRandom.current().nextInt(CONNECTIONS));
                connection.getOutputStream().write(question);
                // The page is one character that does not occur in headers.
                while (connection.getInputStream().read() != '~') { }
                Steady.pause(2);
            }
        } catch (IOException failure) {
            failure.printStackTrace();
        }
    }

    /** Sends a message now and then. */
    private static void talk(URI service) {
        WebSocket socket = HttpClient.newHttpClient().newWebSocketBuilder().buildAsync(service, new WebSocket.Listener() {}).join();
        while (true) {
            Steady.pause(ThreadLocalRandom.current().nextInt(3_000));
            socket.sendText("I am here", true).join();
        }
    }
}
