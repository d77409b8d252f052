package offheap;

import java.lang.reflect.Field;
import sun.misc.Unsafe;

/** The JDK's own access to memory without checks. */
final class Foreign {
    static final Unsafe UNSAFE = unsafe();

    private Foreign() {}

    private static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException refused) {
            throw new IllegalStateException(refused);
        }
    }
}
