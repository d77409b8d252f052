// A function that is chosen when it is bound: its resolver runs inside the dynamic linker, at the first call.
extern void arrive(void);

static int plain(int number) { return number + 1; }

static int (*choose(void))(int) {
    arrive();
    return plain;
}

int chosen_late(int number) __attribute__((ifunc("choose")));
