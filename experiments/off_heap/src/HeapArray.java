package offheap;

public class HeapArray extends Access {
    private int[] memory;

    @Override
    void allocate() {
        memory = new int[INTS];
    }

    @Override
    int get(int at) {
        return memory[at];
    }

    @Override
    void put(int at, int value) {
        memory[at] = value;
    }
}
