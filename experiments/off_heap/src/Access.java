package offheap;

import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * A million ints in one kind of memory: all of them read (summed) or written, in order or at random. An operation is one int. JMH measures
 * each subclass in JVMs of its own, where it is the only one, so that the compiler knows which access it is.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(Access.INTS)
public abstract class Access {
    /** 4 MiB: more than the second cache of the machines at hand (1 MiB), less than the third. */
    static final int INTS = 1 << 20;

    /** On the heap for every kind of memory alike. */
    private int[] order;

    abstract void allocate();

    abstract int get(int at);

    abstract void put(int at, int value);

    @Setup
    public void fill() {
        Random random = new Random(1);
        order = new int[INTS];
        for (int at = 0; at < INTS; at++) {
            int other = random.nextInt(at + 1);
            order[at] = order[other];
            order[other] = at;
        }
        allocate();
        for (int at = 0; at < INTS; at++) {
            put(at, order[at]);
        }
    }

    @Benchmark
    public int readInOrder() {
        int sum = 0;
        for (int at = 0; at < INTS; at++) {
            sum += get(at);
        }
        return sum;
    }

    @Benchmark
    public int readAtRandom() {
        int sum = 0;
        for (int at : order) {
            sum += get(at);
        }
        return sum;
    }

    @Benchmark
    public void writeInOrder() {
        for (int at = 0; at < INTS; at++) {
            put(at, at);
        }
    }

    @Benchmark
    public void writeAtRandom() {
        for (int at : order) {
            put(at, at);
        }
    }
}
