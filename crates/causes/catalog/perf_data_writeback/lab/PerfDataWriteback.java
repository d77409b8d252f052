import fathomlab.Garbage;

/** Has many young collections, each of which writes the performance counters. What happens to the disk below them is the runner's doing. */
public final class PerfDataWriteback {
    private PerfDataWriteback() {}

    public static void main(String[] args) throws Exception {
        Garbage.run(args);
    }
}
