package fathomlab;

/** What one request does. Called on a handler thread; the number tells the requests apart. */
public interface Service {
    void handle(int request) throws Exception;
}
