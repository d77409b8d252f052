import fathomlab.Lab;
import fathomlab.Work;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Books orders. Each booking holds a lock while it waits for a slow write: first one of many locks, chosen by customer;
 * then, in the sick variants, the one lock of a journal that all customers share.
 */
public final class LockContention {
    private static final int STRIPES = 64;

    /** Runs a booking under the lock of a stripe. */
    private interface Locks {
        void book(int stripe, Booking booking) throws InterruptedException;
    }

    private interface Booking {
        void run() throws InterruptedException;
    }

    public static void main(String[] args) throws Exception {
        Lab lab = Lab.of(args);
        long heldMs = lab.number("lock_held_ms");
        int stripesAfter = (int) lab.number("locks_after");
        Locks locks = lab.text("lock").equals("synchronized") ? monitors() : reentrantLocks();
        lab.note("lock", lab.text("lock"));
        lab.note("lock_held_ms", heldMs);
        lab.note("locks_before", STRIPES);
        lab.note("locks_after", stripesAfter);
        lab.run(request -> {
            Work.spin(20_000, request);
            int stripes = lab.in("after") ? stripesAfter : STRIPES;
            locks.book(request % stripes, () -> TimeUnit.MILLISECONDS.sleep(heldMs));
        });
    }

    private static Locks monitors() {
        Object[] monitors = new Object[STRIPES];
        for (int i = 0; i < STRIPES; i++) {
            monitors[i] = new Object();
        }
        return (stripe, booking) -> {
            synchronized (monitors[stripe]) {
                booking.run();
            }
        };
    }

    private static Locks reentrantLocks() {
        ReentrantLock[] locks = new ReentrantLock[STRIPES];
        for (int i = 0; i < STRIPES; i++) {
            locks[i] = new ReentrantLock();
        }
        return (stripe, booking) -> {
            locks[stripe].lock();
            try {
                booking.run();
            } finally {
                locks[stripe].unlock();
            }
        };
    }
}
