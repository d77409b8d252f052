/** The template of all screens. */
final class Screen000 implements Screen {
    @Override
    public long show(int kind, long row) {
        long x = row;
        for (int i = 0; i < 8; i++) {
            if (kind == 0) {
                x ^= x << 13;
            } else if (kind == 1) {
                x += Long.rotateLeft(row, 4);
            } else if (kind == 2) {
                x = x * 5L + kind;
            } else if (kind == 3) {
                x -= Long.bitCount(x) * 6L;
            } else if (kind == 4) {
                x ^= x >>> 7;
            } else if (kind == 5) {
                x += Long.rotateLeft(row, 8);
            } else if (kind == 6) {
                x = x * 9L + kind;
            } else if (kind == 7) {
                x -= Long.bitCount(x) * 10L;
            } else if (kind == 8) {
                x ^= x >>> 11;
            } else if (kind == 9) {
                x += Long.rotateLeft(row, 12);
            } else if (kind == 10) {
                x = x * 13L + kind;
            } else if (kind == 11) {
                x -= Long.bitCount(x) * 14L;
            } else if (kind == 12) {
                x ^= x >>> 15;
            } else if (kind == 13) {
                x += Long.rotateLeft(row, 16);
            } else if (kind == 14) {
                x = x * 17L + kind;
            } else if (kind == 15) {
                x -= Long.bitCount(x) * 18L;
            } else if (kind == 16) {
                x ^= x >>> 19;
            } else if (kind == 17) {
                x += Long.rotateLeft(row, 20);
            } else if (kind == 18) {
                x = x * 21L + kind;
            } else if (kind == 19) {
                x -= Long.bitCount(x) * 22L;
            } else if (kind == 20) {
                x ^= x >>> 23;
            } else if (kind == 21) {
                x += Long.rotateLeft(row, 24);
            } else if (kind == 22) {
                x = x * 25L + kind;
            } else if (kind == 23) {
                x -= Long.bitCount(x) * 26L;
            } else if (kind == 24) {
                x ^= x >>> 27;
            } else if (kind == 25) {
                x += Long.rotateLeft(row, 28);
            } else if (kind == 26) {
                x = x * 29L + kind;
            } else if (kind == 27) {
                x -= Long.bitCount(x) * 30L;
            } else if (kind == 28) {
                x ^= x >>> 31;
            } else if (kind == 29) {
                x += Long.rotateLeft(row, 32);
            } else if (kind == 30) {
                x = x * 33L + kind;
            } else if (kind == 31) {
                x -= Long.bitCount(x) * 34L;
            } else if (kind == 32) {
                x ^= x >>> 35;
            } else if (kind == 33) {
                x += Long.rotateLeft(row, 36);
            } else if (kind == 34) {
                x = x * 37L + kind;
            } else if (kind == 35) {
                x -= Long.bitCount(x) * 38L;
            } else if (kind == 36) {
                x ^= x >>> 39;
            } else if (kind == 37) {
                x += Long.rotateLeft(row, 40);
            } else if (kind == 38) {
                x = x * 41L + kind;
            } else if (kind == 39) {
                x -= Long.bitCount(x) * 42L;
            } else if (kind == 40) {
                x ^= x >>> 43;
            } else if (kind == 41) {
                x += Long.rotateLeft(row, 44);
            } else if (kind == 42) {
                x = x * 45L + kind;
            } else if (kind == 43) {
                x -= Long.bitCount(x) * 46L;
            } else if (kind == 44) {
                x ^= x >>> 47;
            } else if (kind == 45) {
                x += Long.rotateLeft(row, 48);
            } else if (kind == 46) {
                x = x * 49L + kind;
            } else if (kind == 47) {
                x -= Long.bitCount(x) * 50L;
            }
            x ^= x << 7;
        }
        return x;
    }
}
