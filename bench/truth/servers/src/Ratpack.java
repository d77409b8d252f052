// io.ratpack:ratpack-core:1.9.0
import ratpack.exec.Blocking;
import ratpack.server.RatpackServer;

/** Event loops, and a growing pool for what may block. */
public final class Ratpack {
    public static void main(String[] args) throws Exception {
        RatpackServer.start(server -> server
                .serverConfig(config -> config.port(Integer.parseInt(args[0])).development(false))
                .handlers(chain -> chain.all(context -> Blocking
                        .get(() -> Work.answer("/" + context.getRequest().getPath()))
                        .then(page -> context.getResponse().send(page)))));
    }
}
