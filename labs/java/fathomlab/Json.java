package fathomlab;

import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Writes maps, lists, numbers and texts as JSON: only what dose.json needs. */
final class Json {
    private Json() {}

    static String of(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value);
        return out.append('\n').toString();
    }

    private static void write(StringBuilder out, Object value) {
        if (value instanceof Map) {
            writeMap(out, (Map<?, ?>) value);
        } else if (value instanceof List) {
            writeList(out, (List<?>) value);
        } else if (value instanceof Double) {
            out.append(String.format(Locale.ROOT, "%.3f", (Double) value));
        } else if (value instanceof Number) {
            out.append(value);
        } else {
            writeText(out, String.valueOf(value));
        }
    }

    private static void writeMap(StringBuilder out, Map<?, ?> map) {
        String separator = "{";
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            out.append(separator);
            writeText(out, String.valueOf(entry.getKey()));
            out.append(": ");
            write(out, entry.getValue());
            separator = ", ";
        }
        out.append(map.isEmpty() ? "{}" : "}");
    }

    private static void writeList(StringBuilder out, List<?> list) {
        out.append('[');
        String separator = "\n  ";
        for (Object item : list) {
            out.append(separator);
            write(out, item);
            separator = ",\n  ";
        }
        out.append(']');
    }

    private static void writeText(StringBuilder out, String text) {
        out.append('"').append(text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n")).append('"');
    }
}
