/** A screen that is laid out differently for each kind of customer. */
interface Screen {
    int KINDS = 48;

    long show(int kind, long row);
}
