import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.File;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** Tomcat with four connections of HikariCP, and thirty clients. After 5 s a statement takes 400 ms instead of 2. */
public class Orders extends HttpServlet {
    static final long START = System.nanoTime();
    static final HikariDataSource POOL = new HikariDataSource(settings());

    static HikariConfig settings() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:h2:mem:orders");
        config.setMaximumPoolSize(4);
        return config;
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws java.io.IOException {
        try {
            load(System.nanoTime() - START < 5_000_000_000L ? 2 : 400);
            response.getWriter().println("ok");
        } catch (SQLException failed) {
            response.sendError(500);
        }
    }

    static void load(int ms) throws SQLException {
        try (Connection connection = POOL.getConnection();
                PreparedStatement statement = connection.prepareStatement("call pause(?)")) {
            statement.setLong(1, ms);
            statement.execute();
        }
    }

    static void ask(int port) {
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/")).build();
        while (true) {
            try {
                client.send(request, BodyHandlers.ofString());
                Thread.sleep(20);
            } catch (Exception ended) {
                return;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            for (int i = 0; i < 30; i++) {
                new Thread(() -> ask(Integer.parseInt(args[0])), "client-" + i).start();
            }
            Thread.sleep(22_000);
            System.exit(0);
        }
        try (Connection connection = POOL.getConnection()) {
            connection.createStatement().execute("create alias pause for \"java.lang.Thread.sleep(long)\"");
        }
        Tomcat tomcat = new Tomcat();
        tomcat.setPort(0);
        Context context = tomcat.addContext("", new File(".").getAbsolutePath());
        Tomcat.addServlet(context, "orders", new Orders());
        context.addServletMappingDecoded("/", "orders");
        tomcat.start();
        System.out.println(tomcat.getConnector().getLocalPort());
        Thread.sleep(25_000);
        System.exit(0);
    }
}
