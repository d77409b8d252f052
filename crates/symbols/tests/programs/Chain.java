/** Calls through compiled methods of several signatures, and then sleeps below them. */
public class Chain {
    static int sink;

    static int a(int number) throws Exception {
        int result = number < 3 ? a(number + 1) : b(number, 5L, "x");
        sink += result;
        return result;
    }

    static int b(int number, long wide, String text) throws Exception {
        int[] room = new int[number];
        int result = c(number, wide, text, 1, 2, 3, 4, 5, 6, 7) + room.length;
        sink += result;
        return result;
    }

    /** More arguments than registers. */
    static int c(int number, long wide, String text, int d, int e, int f, int g, int h, int i, int j) throws Exception {
        int result = sleep(number) + text.length() + d + e + f + g + h + i + j;
        return result + (int) wide;
    }

    static int sleep(int number) throws Exception {
        Thread.sleep(number < 100 ? 0 : 1_000_000);
        return number;
    }

    public static void main(String[] arguments) throws Exception {
        for (int round = 0; round < 20_000; round++) {
            a(1);
        }
        System.out.println("running");
        a(100);
    }
}
