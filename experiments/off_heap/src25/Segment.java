package offheap;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Ints of a segment that an arena has allocated. */
public abstract class Segment extends Access {
    private MemorySegment memory;

    abstract Arena arena();

    @Override
    void allocate() {
        memory = arena().allocate(ValueLayout.JAVA_INT, INTS);
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
