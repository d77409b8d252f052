package fathomlab;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

/** Many classes with the same code and different names, as template engines and rule compilers make them. */
public final class Copies {
    private Copies() {}

    /**
     * Instances of copies of a class whose name ends in zeros; the copies have numbers from 1 in their place. A new name is as long as
     * the old one, so replacing its bytes leaves a valid class file.
     */
    public static Object[] of(MethodHandles.Lookup lookup, String template, int count) throws Throwable {
        String text = classFile(lookup, template);
        Object[] copies = new Object[count];
        String stem = template.replaceFirst("0+$", "");
        int digits = template.length() - stem.length();
        for (int i = 0; i < count; i++) {
            String name = stem + String.format("%0" + digits + "d", i + 1);
            byte[] renamed = text.replace(template, name).getBytes(StandardCharsets.ISO_8859_1);
            Class<?> type = define(lookup, renamed);
            copies[i] = lookup.findConstructor(type, MethodType.methodType(void.class)).invoke();
        }
        return copies;
    }

    private static String classFile(MethodHandles.Lookup lookup, String name) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (InputStream in = lookup.lookupClass().getResourceAsStream(name + ".class")) {
            for (int next = in.read(); next >= 0; next = in.read()) {
                bytes.write(next);
            }
        }
        return bytes.toString(StandardCharsets.ISO_8859_1.name());
    }

    /** Defines the copy in the caller's loader and package; in JDK 8 only the loader itself can do that. */
    private static Class<?> define(MethodHandles.Lookup lookup, byte[] classFile) throws ReflectiveOperationException {
        try {
            return (Class<?>) MethodHandles.Lookup.class.getMethod("defineClass", byte[].class).invoke(lookup, classFile);
        } catch (NoSuchMethodException jdk8) {
            Method define = ClassLoader.class.getDeclaredMethod("defineClass", String.class, byte[].class, int.class, int.class);
            define.setAccessible(true);
            return (Class<?>) define.invoke(lookup.lookupClass().getClassLoader(), null, classFile, 0, classFile.length);
        }
    }
}
