import java.io.IOException;
import java.io.InputStream;

/** Gets one object; a client of some library, which is there only in the variants that use it. */
public interface Download {
    /** Takes the whole object and says how many bytes it had. */
    long get() throws Exception;

    /** The client of that name for the objects of a server on this machine. */
    static Download by(String name, int port, int objectBytes) throws Exception {
        return (Download) Class.forName(name).getConstructor(int.class, int.class).newInstance(port, objectBytes);
    }

    /** Takes what is left of a body with a good buffer. */
    static long drain(InputStream body) throws IOException {
        byte[] buffer = new byte[64 * 1024];
        long all = 0;
        try (InputStream in = body) {
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                all += read;
            }
        }
        return all;
    }
}
