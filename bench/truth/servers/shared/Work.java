import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;

/** What a request does, whatever server brings it: some computing, a question to another process, a line of a log. */
public final class Work {
    private static final int WORDS = 400;
    private static final boolean IS_DURABLE = Boolean.getBoolean("durable");
    private static final String DATA = System.getProperty("data");
    private static final int PAGE = 4096;

    public static byte[] answer(String path) throws Exception {
        String page = page(path);
        Callee.ask();
        if (IS_DURABLE) {
            append(page);
        }
        if (DATA != null) {
            page += lookedUp();
        }
        Troubles.suffer();
        System.out.println("answered " + path + " with " + page.length() + " characters, all of which were made just now");
        return page.getBytes(StandardCharsets.UTF_8);
    }

    private static String page(String path) throws Exception {
        String[] words = new String[WORDS];
        for (int i = 0; i < WORDS; i++) {
            words[i] = path + Integer.toString(ThreadLocalRandom.current().nextInt(), 36);
        }
        Arrays.sort(words);
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(String.join(",", words).getBytes(StandardCharsets.UTF_8));
        return String.join("\n", Arrays.copyOf(words, 50)) + HexFormat.of().formatHex(hash);
    }

    /** What was ordered is on the disk before the answer is given. */
    private static void append(String page) throws IOException {
        try (FileChannel orders = FileChannel.open(Path.of("orders"), StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            orders.write(ByteBuffer.wrap(page.getBytes(StandardCharsets.UTF_8)));
            orders.force(false);
        }
    }

    /** Forty random pages of a file, which are in memory as long as there is enough of it. */
    private static int lookedUp() throws IOException {
        ByteBuffer page = ByteBuffer.allocateDirect(PAGE);
        int sum = 0;
        try (FileChannel data = FileChannel.open(Path.of(DATA))) {
            for (int i = 0; i < 40; i++) {
                page.clear();
                data.read(page, ThreadLocalRandom.current().nextLong(data.size() / PAGE) * PAGE);
                sum += page.get(0);
            }
        }
        return sum;
    }
}
