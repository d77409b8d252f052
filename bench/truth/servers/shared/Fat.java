/** A class that is loaded many times over, each time by another loader: its methods are compiled anew each time. */
public final class Fat implements java.util.function.IntUnaryOperator {
    private static int m0(int x) {
        int a = x + 0;
        for (int k = 0; k < 3; k++) {
            a = a * 31 + (a >>> 1) ^ (k + 0);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m1(int x) {
        int a = x + 1;
        for (int k = 0; k < 3; k++) {
            a = a * 33 + (a >>> 2) ^ (k + 1);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m2(int x) {
        int a = x + 2;
        for (int k = 0; k < 3; k++) {
            a = a * 35 + (a >>> 3) ^ (k + 2);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m3(int x) {
        int a = x + 3;
        for (int k = 0; k < 3; k++) {
            a = a * 37 + (a >>> 4) ^ (k + 3);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m4(int x) {
        int a = x + 4;
        for (int k = 0; k < 3; k++) {
            a = a * 39 + (a >>> 5) ^ (k + 4);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m5(int x) {
        int a = x + 5;
        for (int k = 0; k < 3; k++) {
            a = a * 41 + (a >>> 6) ^ (k + 5);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m6(int x) {
        int a = x + 6;
        for (int k = 0; k < 3; k++) {
            a = a * 43 + (a >>> 7) ^ (k + 6);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m7(int x) {
        int a = x + 7;
        for (int k = 0; k < 3; k++) {
            a = a * 45 + (a >>> 8) ^ (k + 7);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m8(int x) {
        int a = x + 8;
        for (int k = 0; k < 3; k++) {
            a = a * 47 + (a >>> 9) ^ (k + 8);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m9(int x) {
        int a = x + 9;
        for (int k = 0; k < 3; k++) {
            a = a * 49 + (a >>> 10) ^ (k + 9);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m10(int x) {
        int a = x + 10;
        for (int k = 0; k < 3; k++) {
            a = a * 51 + (a >>> 11) ^ (k + 10);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m11(int x) {
        int a = x + 11;
        for (int k = 0; k < 3; k++) {
            a = a * 53 + (a >>> 12) ^ (k + 11);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m12(int x) {
        int a = x + 12;
        for (int k = 0; k < 3; k++) {
            a = a * 55 + (a >>> 13) ^ (k + 12);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m13(int x) {
        int a = x + 13;
        for (int k = 0; k < 3; k++) {
            a = a * 57 + (a >>> 1) ^ (k + 13);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m14(int x) {
        int a = x + 14;
        for (int k = 0; k < 3; k++) {
            a = a * 59 + (a >>> 2) ^ (k + 14);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m15(int x) {
        int a = x + 15;
        for (int k = 0; k < 3; k++) {
            a = a * 61 + (a >>> 3) ^ (k + 15);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m16(int x) {
        int a = x + 16;
        for (int k = 0; k < 3; k++) {
            a = a * 63 + (a >>> 4) ^ (k + 16);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m17(int x) {
        int a = x + 17;
        for (int k = 0; k < 3; k++) {
            a = a * 65 + (a >>> 5) ^ (k + 17);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m18(int x) {
        int a = x + 18;
        for (int k = 0; k < 3; k++) {
            a = a * 67 + (a >>> 6) ^ (k + 18);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m19(int x) {
        int a = x + 19;
        for (int k = 0; k < 3; k++) {
            a = a * 69 + (a >>> 7) ^ (k + 19);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m20(int x) {
        int a = x + 20;
        for (int k = 0; k < 3; k++) {
            a = a * 71 + (a >>> 8) ^ (k + 20);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m21(int x) {
        int a = x + 21;
        for (int k = 0; k < 3; k++) {
            a = a * 73 + (a >>> 9) ^ (k + 21);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m22(int x) {
        int a = x + 22;
        for (int k = 0; k < 3; k++) {
            a = a * 75 + (a >>> 10) ^ (k + 22);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    private static int m23(int x) {
        int a = x + 23;
        for (int k = 0; k < 3; k++) {
            a = a * 77 + (a >>> 11) ^ (k + 23);
            a += Integer.toString(a & 7).length();
        }
        return a;
    }

    @Override
    public int applyAsInt(int x) {
        int sum = 0;
        for (int i = 0; i < 400; i++) {
            sum += m0(i + x) + m1(i + x) + m2(i + x) + m3(i + x) + m4(i + x) + m5(i + x) + m6(i + x) + m7(i + x) + m8(i + x) + m9(i + x) + m10(i + x) + m11(i + x) + m12(i + x) + m13(i + x) + m14(i + x) + m15(i + x) + m16(i + x) + m17(i + x) + m18(i + x) + m19(i + x) + m20(i + x) + m21(i + x) + m22(i + x) + m23(i + x);
        }
        return sum;
    }
}
