package offheap;

import java.nio.ByteBuffer;

public class HeapBuffer extends Buffer {
    @Override
    ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes);
    }
}
