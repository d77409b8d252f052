/** What a template becomes. */
public final class Page {
    private final StringBuilder text = new StringBuilder();

    public Page() {
        text.append("<html>").append(System.nanoTime()).append("</html>");
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
