import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** A small shop on Tomcat. Its routes take from some µs to milliseconds, and it counts the answered requests. */
public final class Kiosk extends HttpServlet {
    private static final String COUNTED = "/counted";
    private static final int NAMES = 20_000;
    private static final int REPORT_BYTES = 8 << 20;
    private static final byte[] PICTURE = new byte[30_000];

    private final transient List<String> names = names();
    private final transient AtomicLong counted = new AtomicLong();

    public static void main(String[] args) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(args[0]);
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        Context context = tomcat.addContext("", args[0]);
        Tomcat.addServlet(context, "kiosk", new Kiosk());
        context.addServletMappingDecoded("/*", "kiosk");
        tomcat.start();
        System.out.println(tomcat.getConnector().getLocalPort());
        tomcat.getServer().await();
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        String path = request.getPathInfo();
        if (path.equals(COUNTED)) {
            response.getOutputStream().print(Long.toString(counted.get()));
            return;
        }
        byte[] body = answer(path, request.getParameter("q"));
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
        counted.incrementAndGet();
    }

    private byte[] answer(String path, String query) {
        if (path.startsWith("/pictures/")) {
            return PICTURE;
        }
        if (path.startsWith("/items/")) {
            return item(Integer.parseInt(path.substring("/items/".length())));
        }
        return (switch (path) {
            case "/search" -> found(query);
            case "/report" -> Long.toString(report());
            default -> "welcome";
        }).getBytes(StandardCharsets.UTF_8);
    }

    private byte[] item(int number) {
        StringBuilder text = new StringBuilder(2_000);
        for (int field = 0; field < 40; field++) {
            text.append('"').append(names.get((number + field) % NAMES)).append("\":").append(number * field).append(',');
        }
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    private String found(String query) {
        return Long.toString(names.stream().filter(name -> name.contains(query)).count());
    }

    private static long report() {
        CRC32 sum = new CRC32();
        byte[] part = new byte[1 << 16];
        for (int done = 0; done < REPORT_BYTES; done += part.length) {
            sum.update(part);
        }
        return sum.getValue();
    }

    private static List<String> names() {
        Random random = new Random(1);
        List<String> names = new ArrayList<>();
        while (names.size() < NAMES) {
            names.add(Long.toString(Math.abs(random.nextLong()), 36));
        }
        return names;
    }
}
