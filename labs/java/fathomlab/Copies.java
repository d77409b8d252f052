package fathomlab;

import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.charset.StandardCharsets;

/** Many classes with the same code and different names, as template engines and rule compilers make them. */
public final class Copies {
    private Copies() {}

    /**
     * Instances of copies of a class whose name ends in 000; the copies' names end in 001 and so on. A new name is as long
     * as the old one, so replacing its bytes leaves a valid class file.
     */
    public static Object[] of(MethodHandles.Lookup lookup, String template, int count) throws Throwable {
        byte[] classFile;
        try (InputStream in = lookup.lookupClass().getResourceAsStream(template + ".class")) {
            classFile = in.readAllBytes();
        }
        String text = new String(classFile, StandardCharsets.ISO_8859_1);
        Object[] copies = new Object[count];
        for (int i = 0; i < count; i++) {
            String name = template.replace("000", String.format("%03d", i + 1));
            byte[] renamed = text.replace(template, name).getBytes(StandardCharsets.ISO_8859_1);
            Class<?> type = lookup.defineClass(renamed);
            copies[i] = lookup.findConstructor(type, MethodType.methodType(void.class)).invoke();
        }
        return copies;
    }
}
