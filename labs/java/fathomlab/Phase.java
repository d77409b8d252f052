package fathomlab;

/** A part of the run with one steady arrival rate. The runner knows the meaning of each name. */
final class Phase {
    final String name;
    final double seconds;
    final double requestsPerSecond;
    volatile long fromMs;
    volatile long toMs;

    Phase(String name, double seconds, double requestsPerSecond) {
        this.name = name;
        this.seconds = seconds;
        this.requestsPerSecond = requestsPerSecond;
    }
}
