/** The rules of one tenant. */
interface Rules {
    long price(Order order);
}
