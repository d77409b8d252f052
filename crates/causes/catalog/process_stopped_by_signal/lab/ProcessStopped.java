import fathomlab.Lab;
import fathomlab.Work;
import java.nio.file.Files;
import java.nio.file.Path;

/** An ordinary service that tells who it is. */
public final class ProcessStopped {
    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        Files.writeString(Path.of(lab.text("pid_file")), Long.toString(ProcessHandle.current().pid()));
        lab.run(request -> Work.spin(600_000, request));
    }
}
