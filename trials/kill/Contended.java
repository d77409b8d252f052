/** Eight threads that want one lock all the time: whoever observes it for a second and calls it healthy is wrong. */
final class Contended {
    private static final int THREADS = 8;
    private static final long HELD_NS = 2_000_000;

    private static long turns;

    private Contended() {
    }

    public static void main(String[] args) throws InterruptedException {
        for (int thread = 0; thread < THREADS; thread++) {
            Thread handler = new Thread(Contended::handle, "handler-" + thread);
            handler.setDaemon(true);
            handler.start();
        }
        System.out.println("ready " + ProcessHandle.current().pid());
        // Ends by itself should nobody end it.
        Thread.sleep(Long.parseLong(args[0]) * 1000);
    }

    private static void handle() {
        while (true) {
            synchronized (Contended.class) {
                turns++;
                for (long until = System.nanoTime() + HELD_NS; System.nanoTime() < until; ) {
                    Thread.onSpinWait();
                }
            }
        }
    }
}
