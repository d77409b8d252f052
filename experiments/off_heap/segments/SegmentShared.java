package offheap;

import java.lang.foreign.Arena;

public class SegmentShared extends Segment {
    @Override
    Arena arena() {
        return Arena.ofShared();
    }
}
