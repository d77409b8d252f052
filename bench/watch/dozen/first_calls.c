/* A native method that calls functions of a large library through the linkage table of this one. */
#include <jni.h>

#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define EACH(X)                                                                                  \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) EIGHT(X, 1) X(8) X(9) X(18) X(19) EIGHT(X, 2)     \
	X(28) X(29) EIGHT(X, 3) X(38) X(39) EIGHT(X, 4) X(48) X(49) EIGHT(X, 5) X(58) X(59)       \
	X(60) X(61) X(62) X(63)

#define DECLARE(n) void rare_function_##n(void);
#define CALL(n)                      \
	case n:                      \
		rare_function_##n(); \
		break;

EACH(DECLARE)

JNIEXPORT void JNICALL Java_FirstCalls_call(JNIEnv *env, jclass type, jint number)
{
	(void)env;
	(void)type;
	switch (number) {
		EACH(CALL)
	default:
		break;
	}
}
