package fathomlab;

import java.util.HashMap;
import java.util.Map;

/** The program's arguments, all of the form name=value. A missing or invalid one ends the run at once. */
final class Settings {
    private final Map<String, String> values = new HashMap<>();

    Settings(String[] args) {
        for (String arg : args) {
            int equals = arg.indexOf('=');
            if (equals < 1) {
                throw new IllegalArgumentException("expected name=value, got: " + arg);
            }
            values.put(arg.substring(0, equals), arg.substring(equals + 1));
        }
    }

    boolean has(String name) {
        return values.containsKey(name);
    }

    String text(String name) {
        String value = values.get(name);
        if (value == null) {
            throw new IllegalArgumentException("argument missing: " + name + "=...");
        }
        return value;
    }

    long number(String name) {
        return Long.parseLong(text(name));
    }

    /** Phases are written name:seconds:requests_per_second, separated by commas. */
    Phase[] phases() {
        String[] parts = text("phases").split(",");
        Phase[] phases = new Phase[parts.length];
        for (int i = 0; i < parts.length; i++) {
            String[] fields = parts[i].split(":");
            phases[i] = new Phase(fields[0], Double.parseDouble(fields[1]), Double.parseDouble(fields[2]));
        }
        return phases;
    }
}
