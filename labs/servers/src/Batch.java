import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.concurrent.TimeUnit;

/** A job on the same database that keeps rows locked for most of each second. */
public final class Batch {
    public static void main(String[] args) throws Exception {
        try (Connection connection = DriverManager.getConnection("jdbc:h2:tcp://127.0.0.1:" + args[0] + "/mem:shop;LOCK_TIMEOUT=20000");
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            while (true) {
                statement.execute("UPDATE item SET sold = 0 WHERE id < 500");
                TimeUnit.MILLISECONDS.sleep(600);
                connection.commit();
                TimeUnit.MILLISECONDS.sleep(400);
            }
        }
    }
}
