import com.sun.net.httpserver.HttpServer;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.concurrent.DefaultEventExecutorGroup;
import io.netty.util.concurrent.EventExecutorGroup;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** A service on one of three servers, of whose requests one in a hundred takes 50 ms while something is wrong. */
public final class Rare {
    private static final int ONE_OF = 100;
    private static final int SLOW_MS = 50;
    private static final int WORKERS = 32;

    private final Object report = new Object();
    private final int pricesPort;
    private volatile String trouble = "";
    private volatile double result;

    private Rare(int pricesPort) {
        this.pricesPort = pricesPort;
    }

    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[1]);
        Rare service = new Rare(Integer.parseInt(args[2]));
        int port = switch (args[0]) {
            case "tomcat" -> service.onTomcat(folder);
            case "netty" -> service.onNetty();
            case "jdk" -> service.onJdk();
            default -> throw new IllegalArgumentException(args[0]);
        };
        Files.writeString(folder.resolve("port"), Integer.toString(port));
        Thread.currentThread().join();
    }

    /** Answers `/order?id=7`; `/trouble?name=lock` begins trouble, and without a name ends it. */
    private String answer(URI uri) {
        String value = uri.getQuery().substring(uri.getQuery().indexOf('=') + 1);
        if (uri.getPath().equals("/trouble")) {
            begin(value);
            return "ok";
        }
        int id = Integer.parseInt(value);
        try {
            if (id % ONE_OF == 0) {
                suffer(id);
            }
        } catch (IOException | InterruptedException failure) {
            return failure.toString();
        }
        return page(id);
    }

    private void begin(String name) {
        trouble = name;
        if (name.equals("lock")) {
            Thread job = new Thread(this::reportForEver, "report");
            job.setDaemon(true);
            job.start();
        }
    }

    private void suffer(int id) throws IOException, InterruptedException {
        switch (trouble) {
            case "lock" -> readReport();
            case "call" -> Prices.ask(pricesPort, id);
            case "sleep" -> TimeUnit.MILLISECONDS.sleep(SLOW_MS);
            case "cpu" -> result = interest();
            default -> { }
        }
    }

    private void readReport() {
        synchronized (report) {
            result++;
        }
    }

    /** A job that keeps the report locked for nearly all of the time. */
    private void reportForEver() {
        while (trouble.equals("lock")) {
            synchronized (report) {
                pause(SLOW_MS * 2L);
            }
            pause(1);
        }
    }

    private static void pause(long ms) {
        try {
            TimeUnit.MILLISECONDS.sleep(ms);
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private static double interest() {
        long endNs = System.nanoTime() + SLOW_MS * 1_000_000L;
        double sum = 0;
        while (System.nanoTime() < endNs) {
            for (int year = 1; year < 1_000; year++) {
                sum += Math.log(year) / Math.sqrt(sum + year);
            }
        }
        return sum;
    }

    private static String page(int id) {
        StringBuilder page = new StringBuilder();
        for (int row = 0; row < 400; row++) {
            page.append("<tr><td>item ").append(id).append("</td><td>").append(row).append("</td></tr>\n");
        }
        return page.toString();
    }

    private int onJdk() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 256);
        server.setExecutor(Executors.newFixedThreadPool(WORKERS));
        server.createContext("/", exchange -> {
            byte[] body = answer(exchange.getRequestURI()).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        return server.getAddress().getPort();
    }

    private int onTomcat(Path folder) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(folder.toString());
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.getConnector().setProperty("maxThreads", Integer.toString(WORKERS));
        Context context = tomcat.addContext("", folder.toString());
        Tomcat.addServlet(context, "rare", new HttpServlet() {
            @Override
            protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
                response.getWriter().print(answer(URI.create(request.getRequestURI() + "?" + request.getQueryString())));
            }
        });
        context.addServletMappingDecoded("/*", "rare");
        tomcat.start();
        return tomcat.getConnector().getLocalPort();
    }

    /** Event loops read and write; workers answer. */
    private int onNetty() throws InterruptedException {
        EventLoopGroup loops = new NioEventLoopGroup(2);
        EventExecutorGroup workers = new DefaultEventExecutorGroup(WORKERS);
        ServerBootstrap server = new ServerBootstrap().group(loops).channel(NioServerSocketChannel.class);
        server.childHandler(new ChannelInitializer<Channel>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(65_536));
                channel.pipeline().addLast(workers, new Handler());
            }
        });
        Channel bound = server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
        return ((InetSocketAddress) bound.localAddress()).getPort();
    }

    private final class Handler extends SimpleChannelInboundHandler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            byte[] body = answer(URI.create(request.uri())).getBytes(StandardCharsets.UTF_8);
            FullHttpResponse response =
                    new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.wrappedBuffer(body));
            response.headers().set(HttpHeaderNames.CONTENT_LENGTH, body.length);
            context.writeAndFlush(response);
        }
    }
}
