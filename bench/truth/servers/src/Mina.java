// org.apache.mina:mina-core:2.2.4
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import org.apache.mina.core.service.IoHandlerAdapter;
import org.apache.mina.core.session.IoSession;
import org.apache.mina.filter.codec.ProtocolCodecFilter;
import org.apache.mina.filter.codec.textline.LineDelimiter;
import org.apache.mina.filter.codec.textline.TextLineCodecFactory;
import org.apache.mina.filter.executor.ExecutorFilter;
import org.apache.mina.transport.socket.nio.NioSocketAcceptor;

/** Processors read lines; a pool that keeps the order of each connection answers. Just enough of HTTP is spoken by hand. */
public final class Mina extends IoHandlerAdapter {
    public static void main(String[] args) throws Exception {
        NioSocketAcceptor acceptor = new NioSocketAcceptor();
        TextLineCodecFactory lines = new TextLineCodecFactory(StandardCharsets.UTF_8, LineDelimiter.CRLF, LineDelimiter.CRLF);
        lines.setEncoderMaxLineLength(1_000_000);
        acceptor.getFilterChain().addLast("lines", new ProtocolCodecFilter(lines));
        acceptor.getFilterChain().addLast("workers", new ExecutorFilter(16));
        acceptor.getSessionConfig().setTcpNoDelay(true);
        acceptor.setHandler(new Mina());
        acceptor.bind(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])));
        Thread.currentThread().join();
    }

    @Override
    public void messageReceived(IoSession session, Object message) throws Exception {
        String line = message.toString();
        if (line.startsWith("GET ")) {
            session.setAttribute("path", line.split(" ")[1]);
        } else if (line.isEmpty()) {
            String page = new String(Work.answer((String) session.getAttribute("path")), StandardCharsets.UTF_8);
            // The codec ends what it writes with a line's end.
            session.write("HTTP/1.1 200 OK\r\nContent-Length: " + (page.length() + 2) + "\r\n\r\n" + page);
        }
    }
}
