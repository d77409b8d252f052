import fathomlab.SteadyAnswers;

/** The other process, which answers as quickly all the time. */
public final class Component {
    public static void main(String[] args) throws Exception {
        SteadyAnswers.run(args);
    }
}
