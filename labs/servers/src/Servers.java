import com.sun.net.httpserver.HttpServer;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.concurrent.EventExecutorGroup;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.function.Function;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** Serves a page for each request on one of three servers. Each method returns its loopback port. */
final class Servers {
    static final int WORKERS = 32;

    private Servers() {}

    static int onJdk(Function<URI, String> answer) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 256);
        server.setExecutor(Executors.newFixedThreadPool(WORKERS));
        server.createContext("/", exchange -> {
            byte[] body = answer.apply(exchange.getRequestURI()).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        return server.getAddress().getPort();
    }

    static int onTomcat(Path folder, Function<URI, String> answer) throws Exception {
        return onTomcat(folder, WORKERS, new HttpServlet() {
            @Override
            protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
                response.getWriter().print(answer.apply(URI.create(request.getRequestURI() + "?" + request.getQueryString())));
            }
        });
    }

    static int onTomcat(Path folder, int workers, HttpServlet servlet) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(folder.toString());
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.getConnector().setProperty("maxThreads", Integer.toString(workers));
        Context context = tomcat.addContext("", folder.toString());
        Tomcat.addServlet(context, "servlet", servlet);
        context.addServletMappingDecoded("/*", "servlet");
        tomcat.start();
        return tomcat.getConnector().getLocalPort();
    }

    /** Event loops read and write. Workers call `answer`; without workers the loops do. */
    static int onNetty(EventLoopGroup loops, EventExecutorGroup workers, Function<URI, CompletableFuture<String>> answer)
            throws InterruptedException {
        ServerBootstrap server = new ServerBootstrap().group(loops).channel(NioServerSocketChannel.class);
        server.childHandler(new ChannelInitializer<Channel>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(65_536));
                channel.pipeline().addLast(workers, handler(answer));
            }
        });
        Channel bound = server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
        return ((InetSocketAddress) bound.localAddress()).getPort();
    }

    private static ChannelHandler handler(Function<URI, CompletableFuture<String>> answer) {
        return new SimpleChannelInboundHandler<FullHttpRequest>() {
            @Override
            protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
                answer.apply(URI.create(request.uri())).thenAccept(page -> send(context, page));
            }
        };
    }

    private static void send(ChannelHandlerContext context, String page) {
        byte[] body = page.getBytes(StandardCharsets.UTF_8);
        FullHttpResponse response =
                new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.wrappedBuffer(body));
        response.headers().set(HttpHeaderNames.CONTENT_LENGTH, body.length);
        context.writeAndFlush(response);
    }

    /** A page of some 20 KB. */
    static String page(int id) {
        StringBuilder page = new StringBuilder();
        for (int row = 0; row < 400; row++) {
            page.append("<tr><td>item ").append(id).append("</td><td>").append(row).append("</td></tr>\n");
        }
        return page.toString();
    }

    /** The text after the first `=` of a query. */
    static String value(URI uri) {
        return uri.getQuery().substring(uri.getQuery().indexOf('=') + 1);
    }
}
