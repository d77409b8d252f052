// Stops at the end of a chain of calls through libc, a lazily bound function, or a signal handler.
// Built without frame pointers.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern int chosen_late(int);

static volatile int sink;

// Says that it has arrived, and stays.
__attribute__((noipa)) void arrive(void) {
    sink = (int)write(1, "arrived\n", 8);
    for (;;) pause();
}

__attribute__((noipa)) static int compare(const void *a, const void *b) {
    char room[100];
    memset(room, sink, sizeof room);
    arrive();
    sink = room[7];
    return *(const int *)a - *(const int *)b;
}

__attribute__((noipa)) static int sort_numbers(int *numbers, int count) {
    qsort(numbers, (size_t)count, sizeof *numbers, compare);
    return numbers[0] + sink;
}

__attribute__((noipa)) static int first_use(int number) {
    return chosen_late(number) + sink;
}

static void on_signal(int number) {
    arrive();
    sink = number;
}

__attribute__((noipa)) static int be_interrupted(int number) {
    sink = number;
    __asm__ volatile("ud2" ::: "memory");
    return sink;
}

__attribute__((noipa)) static int deeper(const char *how, int depth) {
    int numbers[] = {3, 1, 2};
    if (depth > 0) return deeper(how, depth - 1) + sink;
    if (!strcmp(how, "qsort")) return sort_numbers(numbers, 3);
    if (!strcmp(how, "late")) return first_use(depth);
    signal(SIGILL, on_signal);
    return be_interrupted(depth);
}

int main(int count, char **arguments) {
    return deeper(arguments[1], count > 2 ? atoi(arguments[2]) : 3);
}
