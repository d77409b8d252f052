import fathomlab.Lab;
import fathomlab.Work;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Computes an answer for each request, a millisecond or two of pure CPU time. In the middle of the run several times as
 * many requests arrive as before, more than the handlers can compute. The fixed variant remembers the answers.
 */
public final class MoreTraffic {
    private static final int QUESTIONS = 200;

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        int steps = Work.stepsFor(lab.number("work_us_per_request") * 1000);
        boolean remember = lab.text("answers").equals("remembered");
        ConcurrentMap<Integer, Long> answers = new ConcurrentHashMap<>();
        lab.note("work_us_per_request", lab.number("work_us_per_request"));
        lab.note("answers", lab.text("answers"));
        lab.run(request -> {
            int question = request % QUESTIONS;
            if (remember) {
                answers.computeIfAbsent(question, q -> Work.spin(steps, q));
            } else {
                Work.spin(steps, question);
            }
        });
    }
}
