package offheap;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

public class HeapBuffer extends Access {
    private ByteBuffer memory;

    @Override
    void allocate() {
        memory = ByteBuffer.allocate(4 * INTS).order(ByteOrder.nativeOrder());
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
