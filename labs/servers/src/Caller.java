import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.pool.AbstractChannelPoolHandler;
import io.netty.channel.pool.ChannelPool;
import io.netty.channel.pool.SimpleChannelPool;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * A service that calls another one for each request: `CLIENT FOLDER PORT-OF-THE-OTHER PRICES-PORT`. Clients are async (the JDK's,
 * `sendAsync(...).get()`), netty (in event loops only, no thread waits) and jdbc (a pool; the database asks for the prices).
 * `callee` is the other service of the first two. `/trouble?name=collector` stops it by full collections.
 */
public final class Caller {
    private static final int GARBAGE_LISTS = 4_000;
    private static final int LIST_LENGTH = 1_000;
    private static final AttributeKey<CompletableFuture<String>> ANSWER = AttributeKey.valueOf("answer");

    private final int other;
    private final int prices;
    private List<Object> kept = List.of();

    private Caller(int other, int prices) {
        this.other = other;
        this.prices = prices;
    }

    public static void main(String[] args) throws Exception {
        Caller caller = new Caller(Integer.parseInt(args[2]), Integer.parseInt(args[3]));
        int port = switch (args[0]) {
            case "callee" -> Servers.onJdk(waiting(uri -> Integer.toString(Prices.ask(caller.prices, id(uri)))));
            case "async" -> Servers.onJdk(waiting(caller.unlessTrouble(caller.asynchronous())));
            case "jdbc" -> Servers.onJdk(waiting(caller.unlessTrouble(caller.ofDatabase())));
            case "netty" -> caller.onNetty();
            default -> throw new IllegalArgumentException(args[0]);
        };
        Files.writeString(Path.of(args[1]).resolve(args[0].equals("callee") ? "callee-port" : "port"), Integer.toString(port));
        Thread.currentThread().join();
    }

    /** Something that waits and may fail. */
    private interface Question {
        String ask(URI uri) throws Exception;
    }

    private static Function<URI, String> waiting(Question question) {
        return uri -> {
            try {
                return question.ask(uri);
            } catch (Exception failure) {
                throw new IllegalStateException(failure);
            }
        };
    }

    private static int id(URI uri) {
        return Integer.parseInt(Servers.value(uri));
    }

    private Question unlessTrouble(Question question) {
        return uri -> uri.getPath().equals("/trouble") ? begin() : question.ask(uri);
    }

    private Question asynchronous() {
        HttpClient client = HttpClient.newHttpClient();
        return uri -> {
            HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + other + uri)).build();
            String price = client.sendAsync(request, BodyHandlers.ofString()).get().body();
            return Servers.page(Integer.parseInt(price));
        };
    }

    private Question ofDatabase() throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:h2:tcp://127.0.0.1:" + other + "/mem:shop;DB_CLOSE_DELAY=-1");
        config.setMaximumPoolSize(Servers.WORKERS);
        HikariDataSource pool = new HikariDataSource(config);
        try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement()) {
            statement.execute("CREATE ALIAS IF NOT EXISTS PRICE DETERMINISTIC FOR 'Prices.ask'");
        }
        return uri -> {
            try (Connection connection = pool.getConnection();
                    PreparedStatement query = connection.prepareStatement("SELECT PRICE(?, ?)")) {
                query.setInt(1, prices);
                query.setInt(2, id(uri));
                try (ResultSet rows = query.executeQuery()) {
                    rows.next();
                    return Servers.page(rows.getInt(1));
                }
            }
        };
    }

    private int onNetty() throws InterruptedException {
        EventLoopGroup loops = new NioEventLoopGroup(2);
        Bootstrap client = new Bootstrap().group(loops).channel(NioSocketChannel.class);
        ChannelPool pool = new SimpleChannelPool(client.remoteAddress(InetAddress.getLoopbackAddress(), other), new ToOther());
        return Servers.onNetty(loops, null, uri -> {
            if (uri.getPath().equals("/trouble")) {
                return CompletableFuture.completedFuture(begin());
            }
            CompletableFuture<String> price = new CompletableFuture<>();
            pool.acquire().addListener((Future<Channel> connected) -> ask(pool, connected, uri, price));
            return price.thenApply(text -> Servers.page(Integer.parseInt(text)));
        });
    }

    private static void ask(ChannelPool pool, Future<Channel> connected, URI uri, CompletableFuture<String> price) {
        if (!connected.isSuccess()) {
            price.completeExceptionally(connected.cause());
            return;
        }
        Channel channel = connected.getNow();
        channel.attr(ANSWER).set(price);
        price.whenComplete((text, failure) -> pool.release(channel));
        DefaultFullHttpRequest request = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, uri.toString());
        request.headers().set(HttpHeaderNames.HOST, "127.0.0.1");
        channel.writeAndFlush(request);
    }

    /** Connections to the other service. */
    private static final class ToOther extends AbstractChannelPoolHandler {
        @Override
        public void channelCreated(Channel channel) {
            channel.pipeline().addLast(new HttpClientCodec(), new HttpObjectAggregator(65_536));
            channel.pipeline().addLast(new SimpleChannelInboundHandler<FullHttpResponse>() {
                @Override
                protected void channelRead0(ChannelHandlerContext context, FullHttpResponse response) {
                    context.channel().attr(ANSWER).get().complete(response.content().toString(StandardCharsets.UTF_8));
                }
            });
        }
    }

    /** Keeps much live data, and collects garbage again and again. */
    private String begin() {
        List<Object> lists = new ArrayList<>();
        for (int list = 0; list < GARBAGE_LISTS; list++) {
            List<Object> one = new ArrayList<>();
            for (int at = 0; at < LIST_LENGTH; at++) {
                one.add(new int[] {at});
            }
            lists.add(one);
        }
        kept = lists;
        Thread collecting = new Thread(() -> {
            while (!kept.isEmpty()) {
                System.gc();
                try {
                    TimeUnit.MILLISECONDS.sleep(300);
                } catch (InterruptedException end) {
                    return;
                }
            }
        }, "collecting");
        collecting.setDaemon(true);
        collecting.start();
        return "ok";
    }
}
