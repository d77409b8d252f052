package offheap;

import java.lang.foreign.Arena;

public class SegmentConfined extends Segment {
    @Override
    Arena arena() {
        return Arena.ofConfined();
    }
}
