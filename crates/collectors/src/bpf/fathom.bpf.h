/*
 * The kernel types and fields that the programs use, by name. Their offsets are those of the kernel that loads the
 * programs (CO-RE), so the rest of each type is left out and no header generated from one kernel is needed.
 *
 * Programs attach only to tracepoints by their BTF types and to perf events: a locked-down kernel refuses kprobes and
 * function tracing. They must load on Linux 6.1 and later.
 */
#ifndef FATHOM_BPF_H
#define FATHOM_BPF_H

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

#define true 1
#define false 0

/* Constants of the kernel's interface to programs, which never change. */
#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_ANY 0
#define BPF_NOEXIST 1
#define BPF_F_MMAPABLE (1U << 10)
#define BPF_F_USER_STACK (1ULL << 8)

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct task_struct {
	int pid;
	int tgid;
	unsigned int __state;
	char comm[16];
} KERNEL_TYPE;

struct file;
/* What a program gets that user space runs for each open file of a process. */
struct bpf_iter__task_file {
	struct task_struct *task;
	__u32 fd;
	struct file *file;
} KERNEL_TYPE;

#if defined(__TARGET_ARCH_x86)
#define REGISTERS 21
struct pt_regs {
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long r10;
	unsigned long r8;
	unsigned long r9;
	unsigned long cs;
	unsigned long sp;
} KERNEL_TYPE;
#elif defined(__TARGET_ARCH_arm64)
#define REGISTERS 34
struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
	__u64 orig_x0;
	int syscallno;
} KERNEL_TYPE;
#else
#error "Fathom's programs know x86-64 and arm64"
#endif

static __always_inline __u64 stack_pointer(struct pt_regs *registers)
{
	return registers->sp;
}

static __always_inline __u64 instruction_pointer(struct pt_regs *registers)
{
#if defined(__TARGET_ARCH_x86)
	return registers->ip;
#else
	return registers->pc;
#endif
}

/* What tables of system calls have room for: more than there are, and a power of two. */
#define CALLS 512

/* The system call that the thread is in; negative when it is in none. */
static __always_inline __s32 system_call(struct pt_regs *registers)
{
#if defined(__TARGET_ARCH_x86)
	return (__s32)registers->orig_ax;
#else
	return registers->syscallno;
#endif
}

/* The second argument of the system call that the thread is in. */
static __always_inline __u64 second_argument(struct pt_regs *registers)
{
#if defined(__TARGET_ARCH_x86)
	return registers->si;
#else
	return registers->regs[1];
#endif
}

/* The fifth one. */
static __always_inline __u64 fifth_argument(struct pt_regs *registers)
{
#if defined(__TARGET_ARCH_x86)
	return registers->r8;
#else
	return registers->regs[4];
#endif
}

/* The program's only argument of a BTF tracepoint: the tracepoint's arguments, one in each word. */
typedef unsigned long long *arguments;

static __always_inline __u32 current_tgid(void)
{
	return bpf_get_current_pid_tgid() >> 32;
}

/*
 * An index below a power of two. The compiler must not see where it comes from: it would take its bound
 * from an earlier comparison, which the verifier has forgotten by then.
 */
static __always_inline __u32 below(__u32 index, __u32 power_of_two)
{
	asm volatile("" : "+r"(index));
	return index & (power_of_two - 1);
}

/* Position of the highest bit: ns to the power of two below them. */
static __always_inline __u32 log2_of(__u64 value)
{
	__u32 log = 0;

	if (value >> 32) {
		log += 32;
		value >>= 32;
	}
	if (value >> 16) {
		log += 16;
		value >>= 16;
	}
	if (value >> 8) {
		log += 8;
		value >>= 8;
	}
	if (value >> 4) {
		log += 4;
		value >>= 4;
	}
	if (value >> 2) {
		log += 2;
		value >>= 2;
	}
	return log + (value >> 1);
}

/* Counts what got lost; several CPUs may do so at once. */
#define COUNT(variable) __sync_fetch_and_add(&(variable), 1)

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#endif
