/** Says that it runs, and waits for input that never comes. */
public class Sleeping {
    public static void main(String[] arguments) throws Exception {
        System.out.println("running");
        System.in.read();
    }
}
