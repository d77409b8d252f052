package fathomlab;

import java.util.concurrent.TimeUnit;

/** Makes garbage, so that the JVM stops for a young collection many times a second and logs each one. */
public final class Garbage {
    private static final int CHUNK_BYTES = 32 * 1024;

    private Garbage() {}

    public static void run(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int chunks = (int) lab.number("garbage_kb_per_request") * 1024 / CHUNK_BYTES;
        lab.run(request -> {
            Work.spin(100_000, request);
            for (int i = 0; i < chunks; i++) {
                Work.fill(new byte[CHUNK_BYTES], request);
            }
            TimeUnit.MILLISECONDS.sleep(1);
        });
    }
}
