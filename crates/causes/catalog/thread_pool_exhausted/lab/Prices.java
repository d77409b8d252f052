import fathomlab.SteadyAnswers;

/** The other process. */
public final class Prices {
    public static void main(String[] args) throws Exception {
        SteadyAnswers.run(args);
    }
}
