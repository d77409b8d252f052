import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * The program that produces the benchmark recordings: a small build server.
 *
 * <p>Builder threads compile the given sources with the JDK's own compiler (recursive, so stacks are deep and many,
 * and allocating all the time). Packer threads compress the classes at every level (native memory) and file the
 * result in one contended ledger (locks). Watcher threads mostly sleep, as most threads of a real service do. It runs
 * until SIGTERM.
 */
public final class BuildServer {
    private static final int BUILDERS = 2;
    private static final int PACKERS = 4;
    private static final int WATCHERS = 24;
    private static final BlockingQueue<byte[]> BUILT = new ArrayBlockingQueue<>(64);
    private static final Map<Long, Integer> LEDGER = new TreeMap<>();

    private BuildServer() {}

    private interface Work {
        void once() throws Exception;
    }

    public static void main(String[] sourceFiles) throws Exception {
        List<JavaFileObject> sources = new ArrayList<>();
        for (String file : sourceFiles) {
            sources.add(new Source(Path.of(file)));
        }
        start("watcher", WATCHERS, BuildServer::watch);
        start("packer", PACKERS, BuildServer::pack);
        start("builder", BUILDERS, () -> build(sources));
    }

    private static void start(String role, int threads, Work work) {
        for (int i = 0; i < threads; i++) {
            new Thread(() -> forever(work), role + "-" + i).start();
        }
    }

    private static void forever(Work work) {
        try {
            while (true) {
                work.once();
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void watch() throws InterruptedException {
        Thread.sleep(ThreadLocalRandom.current().nextInt(5, 50));
        file(ThreadLocalRandom.current().nextLong(1 << 8), 1);
    }

    private static void build(List<JavaFileObject> sources) throws InterruptedException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        Memory memory = new Memory(compiler.getStandardFileManager(null, null, null));
        if (!compiler.getTask(null, memory, null, List.of("-proc:none"), null, sources).call()) {
            throw new IllegalStateException("the sources given do not compile");
        }
        for (ByteArrayOutputStream classFile : memory.classes) {
            BUILT.put(classFile.toByteArray());
        }
    }

    private static void pack() throws InterruptedException {
        byte[] classFile = BUILT.take();
        byte[] packed = new byte[classFile.length + 64];
        for (int copy = 0; copy < 100; copy++) {
            Deflater deflater = new Deflater(1 + copy % Deflater.BEST_COMPRESSION);
            deflater.setInput(classFile);
            deflater.finish();
            int size = deflater.deflate(packed);
            deflater.end();
            CRC32 sum = new CRC32();
            sum.update(packed, 0, size);
            file(sum.getValue() & 0xff, size);
        }
    }

    private static synchronized void file(long key, int size) {
        LEDGER.merge(key, size, Integer::max);
        long total = 0;
        for (int known : LEDGER.values()) {
            total += known;
        }
        if (total > 1 << 20) {
            LEDGER.clear();
        }
    }

    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(Path path) throws Exception {
            super(path.toUri(), Kind.SOURCE);
            text = Files.readString(path);
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    /** Keeps the classes that the compiler writes in memory. */
    private static final class Memory extends ForwardingJavaFileManager<JavaFileManager> {
        final List<ByteArrayOutputStream> classes = new ArrayList<>();

        Memory(JavaFileManager inner) {
            super(inner);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(Location at, String name, JavaFileObject.Kind kind, FileObject near) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            classes.add(bytes);
            return new SimpleJavaFileObject(URI.create("memory:///" + name.replace('.', '/')), kind) {
                @Override
                public ByteArrayOutputStream openOutputStream() {
                    return bytes;
                }
            };
        }
    }
}
