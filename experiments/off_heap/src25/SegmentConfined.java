package offheap;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

public class SegmentConfined extends Access {
    private MemorySegment memory;

    @Override
    void allocate() {
        memory = Arena.ofConfined().allocate(ValueLayout.JAVA_INT, INTS);
    }

    @Override
    int get(int at) {
        return memory.getAtIndex(ValueLayout.JAVA_INT, at);
    }

    @Override
    void put(int at, int value) {
        memory.setAtIndex(ValueLayout.JAVA_INT, at, value);
    }
}
