import fathomlab.Garbage;

/** Has many young collections, each of which writes to the log. What happens to the disk that holds it is the runner's doing. */
public final class GcLogBlocked {
    private GcLogBlocked() {}

    public static void main(String[] args) throws Exception {
        Garbage.run(args);
    }
}
