package offheap;

import java.nio.ByteBuffer;

public class DirectBuffer extends Buffer {
    @Override
    ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocateDirect(bytes);
    }
}
