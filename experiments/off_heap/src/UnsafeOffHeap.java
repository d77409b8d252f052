package offheap;

public class UnsafeOffHeap extends Access {
    private long memory;

    @Override
    void allocate() {
        memory = Foreign.UNSAFE.allocateMemory(4L * INTS);
    }

    @Override
    int get(int at) {
        return Foreign.UNSAFE.getInt(memory + 4L * at);
    }

    @Override
    void put(int at, int value) {
        Foreign.UNSAFE.putInt(memory + 4L * at, value);
    }
}
