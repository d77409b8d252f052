/** One of many: the runner's copies of it have other names and the same code, so that each has compiled methods of its own. */
public final class Step000 implements NmethodBarrierStorm.Step {
    private long[] state = new long[8];
    private Object other = state;

    @Override
    public long apply(long value) {
        return part1(part2(part3(part4(part5(part6(part7(part8(part9(part10(part11(part12(value))))))))))));
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

    private long part5(long value) {
        return value + state[5];
    }

    private long part6(long value) {
        return value + state[6];
    }

    private long part7(long value) {
        return value + state[7];
    }

    private long part8(long value) {
        return value + state[0];
    }

    private long part9(long value) {
        return value + state[1];
    }

    private long part10(long value) {
        return value + state[2];
    }

    private long part11(long value) {
        return value + state[3];
    }

    private long part12(long value) {
        return value + state[4];
    }
}
