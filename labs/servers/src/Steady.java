import com.sun.net.httpserver.HttpServer;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.http2.Http2Protocol;

/**
 * A healthy service: `KIND FOLDER`. Kinds are http2 (many requests at once on few connections), websocket (messages without a
 * request), longpoll (answers when something happens), streaming (answers of many seconds), idle (hardly any request) and many (connections).
 */
public final class Steady {
    private Steady() {}

    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[1]);
        int port = switch (args[0]) {
            case "http2" -> onTomcat(folder);
            case "websocket" -> onNetty();
            case "many" -> Servers.onNetty(new NioEventLoopGroup(2), null, uri -> CompletableFuture.completedFuture("~"));
            case "longpoll", "streaming", "idle" -> onJdk();
            default -> throw new IllegalArgumentException(args[0]);
        };
        Files.writeString(folder.resolve("port"), Integer.toString(port));
        Thread.currentThread().join();
    }

    static void pause(long ms) {
        try {
            TimeUnit.MILLISECONDS.sleep(ms);
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private static int onTomcat(Path folder) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(folder.toString());
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.getConnector().addUpgradeProtocol(new Http2Protocol());
        Context context = tomcat.addContext("", folder.toString());
        Tomcat.addServlet(context, "page", new HttpServlet() {
            @Override
            protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
                pause(ThreadLocalRandom.current().nextInt(2, 8));
                response.getWriter().print(Servers.page(7));
            }
        });
        context.addServletMappingDecoded("/*", "page");
        tomcat.start();
        return tomcat.getConnector().getLocalPort();
    }

    private static int onJdk() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 256);
        server.setExecutor(Executors.newFixedThreadPool(64));
        server.createContext("/longpoll", exchange -> {
            pause(ThreadLocalRandom.current().nextLong(1_000, 8_000));
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        server.createContext("/streaming", exchange -> {
            exchange.sendResponseHeaders(200, 0);
            for (int event = 0; event < 100; event++) {
                exchange.getResponseBody().write(("data: " + event + "\n\n").getBytes());
                exchange.getResponseBody().flush();
                pause(100);
            }
            exchange.close();
        });
        server.createContext("/idle", exchange -> {
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        server.start();
        return server.getAddress().getPort();
    }

    /** Each connection gets a message 1 to 20 times a second, and may send some itself, which are not answered. */
    private static int onNetty() throws InterruptedException {
        ServerBootstrap server = new ServerBootstrap().group(new NioEventLoopGroup(2)).channel(NioServerSocketChannel.class);
        server.childHandler(new ChannelInitializer<Channel>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(65_536));
                channel.pipeline().addLast(new WebSocketServerProtocolHandler("/websocket"), new Pushing());
            }
        });
        Channel bound = server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
        return ((InetSocketAddress) bound.localAddress()).getPort();
    }

    private static final class Pushing extends SimpleChannelInboundHandler<WebSocketFrame> {
        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) {
            if (event instanceof WebSocketServerProtocolHandler.HandshakeComplete) {
                push(context);
            }
        }

        private void push(ChannelHandlerContext context) {
            if (context.channel().isActive()) {
                context.writeAndFlush(new TextWebSocketFrame("price " + ThreadLocalRandom.current().nextInt()));
                long ms = ThreadLocalRandom.current().nextLong(50, 1_000);
                context.executor().schedule(() -> push(context), ms, TimeUnit.MILLISECONDS);
            }
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, WebSocketFrame frame) {
            // Messages from clients need no answer.
        }
    }
}
