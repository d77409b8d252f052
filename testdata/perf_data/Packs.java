import java.util.Random;
import java.util.zip.Deflater;

/** Packs text on one thread, in native code of zlib, for so many seconds. */
public class Packs {
    static volatile long sink;

    static int pack(byte[] text, byte[] packed) {
        Deflater deflater = new Deflater(9);
        deflater.setInput(text);
        deflater.finish();
        int length = deflater.deflate(packed);
        deflater.end();
        return length;
    }

    public static void main(String[] args) {
        byte[] text = new byte[1 << 17];
        new Random(1).ints(text.length, 0, 16).forEach(letter -> text[(int) (sink++ % text.length)] = (byte) letter);
        byte[] packed = new byte[text.length * 2];
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        while (System.nanoTime() < end) {
            sink += pack(text, packed);
        }
    }
}
