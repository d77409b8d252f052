/** A JVM that does what its native code is told to (events.c): Fathom records nothing else. */
final class Events {
    private Events() {}

    public static void main(String[] args) {
        System.load(args[0]);
        work();
    }

    private static native void work();
}
