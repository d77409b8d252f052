package offheap;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Ints of a segment that an arena has allocated, by methods that are the same in the preview of JDK 21. */
public abstract class Segment extends Access {
    private MemorySegment memory;

    abstract Arena arena();

    @Override
    void allocate() {
        memory = arena().allocate(4L * INTS, 4);
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
