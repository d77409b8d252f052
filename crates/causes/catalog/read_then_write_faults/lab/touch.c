/*
 * Touches each page of new memory in one of several ways, and gives the memory back.
 */
#include <jni.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE 4096

static void touch(volatile unsigned char *memory, long bytes, const char *way)
{
	int reads_first = !strcmp(way, "read_then_write"), adds = !strcmp(way, "atomic_add");
	unsigned char seen;
	long at;

	if (!strcmp(way, "populate")) {
		madvise((void *)memory, bytes, MADV_POPULATE_WRITE);
		return;
	}
	for (at = 0; at < bytes; at += PAGE) {
		if (adds) {
			__atomic_fetch_add(&memory[at], 0, __ATOMIC_RELAXED);
			continue;
		}
		seen = reads_first ? memory[at] : 0;
		memory[at] = seen + 1;
	}
}

/* Pages touched; negative when there is no memory. */
JNIEXPORT jlong JNICALL Java_ReadThenWriteFaults_touch(JNIEnv *env, jclass type, jlong bytes, jstring way)
{
	const char *text = (*env)->GetStringUTFChars(env, way, 0);
	void *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	jlong pages = -1;

	(void)type;
	if (text && memory != MAP_FAILED) {
		madvise(memory, bytes, MADV_NOHUGEPAGE);
		touch(memory, bytes, text);
		munmap(memory, bytes);
		pages = bytes / PAGE;
	}
	if (text)
		(*env)->ReleaseStringUTFChars(env, way, text);
	return pages;
}
