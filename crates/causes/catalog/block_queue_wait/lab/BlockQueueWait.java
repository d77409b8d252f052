import fathomlab.DirectReads;

/** Reads a block of a file for each request. What happens to the device under it is the runner's doing. */
public final class BlockQueueWait {
    private BlockQueueWait() {}

    public static void main(String[] args) throws Exception {
        DirectReads.run(args);
    }
}
