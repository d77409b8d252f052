package offheap;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * What goes wrong when one int is measured: the cost of calling the benchmark hides that of the access, an address in a field is a second
 * load, objects that do not escape are never in memory, and constants are no memory access at all.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class OneField {
    private static final int CONSTANT = 42;
    private static final long CONSTANT_ADDRESS = Foreign.UNSAFE.allocateMemory(4);

    private int onHeap;
    private long address;

    private static final class Box {
        int value;
    }

    @Setup
    public void allocate() {
        onHeap = 42;
        address = Foreign.UNSAFE.allocateMemory(4);
        Foreign.UNSAFE.putInt(address, 42);
        Foreign.UNSAFE.putInt(CONSTANT_ADDRESS, 42);
    }

    @TearDown
    public void free() {
        Foreign.UNSAFE.freeMemory(address);
    }

    @Benchmark
    public int nothing() {
        return CONSTANT;
    }

    @Benchmark
    public int heapField() {
        return onHeap;
    }

    @Benchmark
    public int unsafeAtAddressInField() {
        return Foreign.UNSAFE.getInt(address);
    }

    @Benchmark
    public int unsafeAtConstantAddress() {
        return Foreign.UNSAFE.getInt(CONSTANT_ADDRESS);
    }

    @Benchmark
    public int heapAllocatedEachTime() {
        Box box = new Box();
        box.value = onHeap;
        return box.value;
    }

    @Benchmark
    public int unsafeAllocatedEachTime() {
        long fresh = Foreign.UNSAFE.allocateMemory(4);
        Foreign.UNSAFE.putInt(fresh, onHeap);
        int value = Foreign.UNSAFE.getInt(fresh);
        Foreign.UNSAFE.freeMemory(fresh);
        return value;
    }
}
