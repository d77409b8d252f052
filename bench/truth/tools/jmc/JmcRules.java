import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.unit.IQuantity;
import org.openjdk.jmc.common.util.IPreferenceValueProvider;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;
import org.openjdk.jmc.flightrecorder.rules.IResult;
import org.openjdk.jmc.flightrecorder.rules.IRule;
import org.openjdk.jmc.flightrecorder.rules.ResultToolkit;
import org.openjdk.jmc.flightrecorder.rules.RuleRegistry;
import org.openjdk.jmc.flightrecorder.rules.TypedResult;
import org.openjdk.jmc.flightrecorder.rules.util.RulesToolkit;

/** Runs every rule of JMC on each FILE with its default settings, and prints one line of JSON per file. */
public final class JmcRules {
    private JmcRules() {}

    public static void main(String[] args) {
        for (String file : args) {
            System.out.println(answer(new File(file)));
        }
        // The rules' threads would keep the program alive.
        System.exit(0);
    }

    private static String answer(File file) {
        try {
            IItemCollection events = JfrLoaderToolkit.loadEvents(List.of(file));
            List<String> rows = new ArrayList<>();
            Map<IRule, Future<IResult>> results =
                    RulesToolkit.evaluateParallel(RuleRegistry.getRules(), events, IPreferenceValueProvider.DEFAULT_VALUES, 1);
            for (Map.Entry<IRule, Future<IResult>> result : results.entrySet()) {
                rows.add(row(result.getKey(), result.getValue()));
            }
            return "{\"rules\": [" + String.join(", ", rows) + "]}";
        } catch (Exception failure) {
            return "{\"refused\": " + quoted(failure.toString()) + "}";
        }
    }

    private static String row(IRule rule, Future<IResult> future) {
        String row = "{\"id\": " + quoted(rule.getId());
        try {
            IResult result = future.get();
            row += ", \"severity\": " + quoted(result.getSeverity().name());
            IQuantity score = result.getResult(TypedResult.SCORE);
            row += score == null ? "" : ", \"score\": " + score.doubleValue();
            row += ", \"says\": " + quoted(ResultToolkit.populateMessage(result, result.getSummary(), false));
        } catch (Exception failure) {
            row += ", \"severity\": \"FAILED\", \"says\": " + quoted(failure.toString());
        }
        return row + "}";
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char letter : (text == null ? "" : text).toCharArray()) {
            boolean plain = letter >= ' ' && letter < 127 && letter != '"' && letter != '\\';
            quoted.append(plain ? String.valueOf(letter) : String.format("\\u%04x", (int) letter));
        }
        return quoted.append('"').toString();
    }
}
