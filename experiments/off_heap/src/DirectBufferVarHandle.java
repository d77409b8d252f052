package offheap;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

public class DirectBufferVarHandle extends Access {
    private static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

    private ByteBuffer memory;

    @Override
    void allocate() {
        memory = ByteBuffer.allocateDirect(4 * INTS);
    }

    @Override
    int get(int at) {
        return (int) INT.get(memory, 4 * at);
    }

    @Override
    void put(int at, int value) {
        INT.set(memory, 4 * at, value);
    }
}
