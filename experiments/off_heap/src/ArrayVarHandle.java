package offheap;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

public class ArrayVarHandle extends Access {
    private static final VarHandle INT = MethodHandles.arrayElementVarHandle(int[].class);

    private int[] memory;

    @Override
    void allocate() {
        memory = new int[INTS];
    }

    @Override
    int get(int at) {
        return (int) INT.get(memory, at);
    }

    @Override
    void put(int at, int value) {
        INT.set(memory, at, value);
    }
}
