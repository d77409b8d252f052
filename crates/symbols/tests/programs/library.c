// A library that calls others and has a function that nobody else sees.
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static long hidden_function(long number) {
    return number * getpid() + 3;
}

long exported_function(const char *text) {
    return hidden_function((long)strtoul(text, 0, 10)) + 1;
}
