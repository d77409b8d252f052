package offheap;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Ints of a buffer by its own methods. */
public abstract class Buffer extends Access {
    private ByteBuffer memory;

    abstract ByteBuffer buffer(int bytes);

    @Override
    void allocate() {
        memory = buffer(4 * INTS).order(ByteOrder.nativeOrder());
    }

    @Override
    int get(int at) {
        return memory.getInt(4 * at);
    }

    @Override
    void put(int at, int value) {
        memory.putInt(4 * at, value);
    }
}
