import java.nio.file.Path;

import jdk.jfr.Event;
import jdk.jfr.Name;
import jdk.jfr.Recording;

/** Events of an application whose texts come often enough to go into Flight Recorder's pool, from a thread named after a user. */
public final class Own {
    @Name("shop.Login")
    static final class Login extends Event {
        double price;
        String command;
        String password;
        String note;
    }

    public static void main(String[] args) throws Exception {
        try (Recording recording = new Recording()) {
            recording.enable(Login.class).withoutStackTrace();
            recording.start();
            Thread thread = new Thread(Own::log, "cart 4711 of anna.schmidt@shop.example");
            thread.start();
            thread.join();
            recording.stop();
            recording.dump(Path.of(args[0]));
        }
    }

    private static void log() {
        for (int i = 0; i < 20; i++) {
            Login login = new Login();
            login.price = 19.99;
            login.command = "mysql -u shop --password=Tr0ub4dor orders";
            login.password = "correct horse Tr0ub4dor staple";
            login.note = "a text that stays as it is";
            login.commit();
        }
    }
}
