package offheap;

import java.lang.foreign.Arena;

public class SegmentGlobal extends Segment {
    @Override
    Arena arena() {
        return Arena.global();
    }
}
