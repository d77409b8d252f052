package fathomlab;

/** What one request does. Called on a handler thread; the number identifies the request. */
public interface Service {
    void handle(int request) throws Exception;
}
