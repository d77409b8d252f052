import fathomlab.Lab;
import fathomlab.Work;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/** A service whose template engine makes classes: anew for each request, or once. */
public final class MetaspaceFull {
    /** How much live data a collection has to look at. */
    private static final int LIVE_KB = 100 * 1024;
    private static final int CLASSES = 30;

    private final byte[] template;
    private final boolean keeps;
    private Class<?> kept;

    private MetaspaceFull(byte[] template, boolean keeps) {
        this.template = template;
        this.keeps = keeps;
    }

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        List<byte[]> live = new ArrayList<>();
        for (int i = 0; i < LIVE_KB; i++) {
            live.add(new byte[1_000]);
        }
        MetaspaceFull service = new MetaspaceFull(classFile(), lab.text("keeps").equals("classes"));
        lab.run(request -> {
            Work.spin(400_000, request);
            for (int i = 0; i < CLASSES && lab.in("after"); i++) {
                service.page().getDeclaredConstructor().newInstance();
            }
        });
        Work.spin(1, live.size());
    }

    private Class<?> page() {
        if (!keeps) {
            return new Templates().define(template);
        }
        synchronized (this) {
            kept = kept == null ? new Templates().define(template) : kept;
            return kept;
        }
    }

    private static byte[] classFile() throws IOException {
        try (InputStream in = MetaspaceFull.class.getResourceAsStream("Page.class")) {
            return in.readAllBytes();
        }
    }

    /** The loader of one class. */
    private static final class Templates extends ClassLoader {
        Templates() {
            super(MetaspaceFull.class.getClassLoader());
        }

        Class<?> define(byte[] classFile) {
            return defineClass("Page", classFile, 0, classFile.length);
        }
    }
}
