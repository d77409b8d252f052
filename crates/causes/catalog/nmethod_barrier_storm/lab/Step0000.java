/** One of many: the runner's copies of it have other names and the same code, so that each has compiled methods of its own. */
public final class Step0000 implements NmethodBarrierStorm.Step {
    private long[] state = new long[8];
    private Object other = state;

    @Override
    public long apply(long value) {
        return part1(part2(part3(part4(value))));
    }

    // The JVM is told not to inline these.
    private long part1(long value) {
        return state[0] = value + state[1];
    }

    private long part2(long value) {
        other = state;
        return value ^ state[2];
    }

    private long part3(long value) {
        return state == other ? value + 1 : value;
    }

    private long part4(long value) {
        state[3] += value;
        return value + state.length;
    }
}
