/** A JVM that runs native code (events.c), because Fathom only records JVMs. */
final class Events {
    private Events() {}

    public static void main(String[] args) {
        System.load(args[0]);
        work();
    }

    private static native void work();
}
