/** Two threads compute from second 6 to 12. */
public class Burn {
    static volatile double sink;

    public static void main(String[] arguments) throws Exception {
        Thread.sleep(6_000);
        for (int nth = 0; nth < 2; nth++) {
            new Thread(Burn::compute, "burner-" + nth).start();
        }
        Thread.sleep(10_000);
    }

    static void compute() {
        long end = System.nanoTime() + 6_000_000_000L;
        while (System.nanoTime() < end) {
            sink += Math.sqrt(sink + 1);
        }
    }
}
