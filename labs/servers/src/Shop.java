import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A shop on Tomcat, with a pool of connections to a database in another process, and a service of prices in a third. */
public final class Shop extends HttpServlet {
    private static final Logger LOG = LoggerFactory.getLogger(Shop.class);
    private static final String LINE = "x".repeat(1_500);
    private static final int ITEMS = 1_000;
    private static final int WORKERS = 48;

    private final transient HikariDataSource pool;
    private final transient Troubles troubles;
    private final int pricesPort;

    private Shop(HikariDataSource pool, int pricesPort) {
        this.pool = pool;
        this.pricesPort = pricesPort;
        troubles = new Troubles(pricesPort);
    }

    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[0]);
        HikariDataSource pool = pool(Integer.parseInt(args[1]));
        fill(pool);
        int port = Servers.onTomcat(folder, WORKERS, new Shop(pool, Integer.parseInt(args[2])));
        Files.writeString(folder.resolve("port"), Integer.toString(port));
        Thread.currentThread().join();
    }

    private static HikariDataSource pool(int port) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:h2:tcp://127.0.0.1:" + port + "/mem:shop;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=20000");
        config.setMaximumPoolSize(10);
        config.setMinimumIdle(10);
        config.setConnectionTimeout(1_000);
        config.setValidationTimeout(500);
        return new HikariDataSource(config);
    }

    private static void fill(HikariDataSource pool) throws Exception {
        try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE IF NOT EXISTS item (id INT PRIMARY KEY, name VARCHAR, sold INT)");
            statement.execute("MERGE INTO item SELECT x, 'item ' || x, 0 FROM system_range(0, " + (ITEMS - 1) + ")");
        }
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        if (request.getRequestURI().equals("/trouble")) {
            troubles.begin(request.getParameter("name"));
            response.getWriter().println("ok");
            return;
        }
        int id = Integer.parseInt(request.getParameter("id"));
        try {
            String name = sell(id % ITEMS);
            int price = Prices.ask(pricesPort, id);
            troubles.suffer(id);
            LOG.info("sold {} {} for {} {}", id, name, price, LINE);
            response.getWriter().println(page(name, price));
        } catch (Exception failure) {
            LOG.warn("request {}: {}", id, failure.toString());
            response.sendError(503);
        }
    }

    private String sell(int id) throws Exception {
        Connection connection = pool.getConnection();
        try (PreparedStatement update = connection.prepareStatement("UPDATE item SET sold = sold + 1 WHERE id = ?");
                PreparedStatement query = connection.prepareStatement("SELECT name FROM item WHERE id = ?")) {
            update.setInt(1, id);
            update.executeUpdate();
            query.setInt(1, id);
            try (ResultSet rows = query.executeQuery()) {
                rows.next();
                return rows.getString(1);
            }
        } finally {
            if (!troubles.forgetsToGiveBack(id)) {
                connection.close();
            }
        }
    }

    /** Some real work. */
    private static String page(String name, int price) {
        StringBuilder page = new StringBuilder();
        for (int row = 0; row < 400; row++) {
            page.append("<tr><td>").append(name).append("</td><td>").append(price + row).append("</td></tr>\n");
        }
        return page.toString();
    }
}
