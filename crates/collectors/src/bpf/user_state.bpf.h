/*
 * A thread as it was when it left user mode: its registers and a copy of the top of its stack, from
 * which user space unwinds through code without frame pointers; and the stack by frame pointers for
 * code without unwind tables.
 */
#ifndef FATHOM_USER_STATE_H
#define FATHOM_USER_STATE_H

#include "fathom.bpf.h"

#define PAGE_BYTES 4096
#define STACK_BYTES (3 * PAGE_BYTES)
#define FRAME_POINTER_FRAMES 64

struct user_state {
	__u64 registers[34];
	__u64 frames[FRAME_POINTER_FRAMES];
	__u32 frame_count;
	__u32 stack_bytes;
	__u8 stack[STACK_BYTES];
};

/*
 * Copies page by page: close to the stack's beginning the pages beyond are not there, and a page that
 * is swapped out cannot be read from here. At least two whole pages are copied if they are there.
 */
static __always_inline __u32 copy_stack(struct user_state *user, __u64 from)
{
	__u32 first = PAGE_BYTES - (from & (PAGE_BYTES - 1));

	/* The compiler must not forget the bounds that the verifier wants to see. */
	asm volatile("" : "+r"(first));
	if (first == 0 || first > PAGE_BYTES)
		return 0;
	if (bpf_probe_read_user(user->stack, first, (void *)from))
		return 0;
	if (bpf_probe_read_user(user->stack + first, PAGE_BYTES, (void *)(from + first)))
		return first;
	if (bpf_probe_read_user(user->stack + first + PAGE_BYTES, PAGE_BYTES, (void *)(from + first + PAGE_BYTES)))
		return first + PAGE_BYTES;
	return first + 2 * PAGE_BYTES;
}

/* Of the thread that runs the program. */
static __always_inline void take_user_state(void *context, struct user_state *user)
{
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	long bytes = bpf_get_stack(context, user->frames, sizeof(user->frames), BPF_F_USER_STACK);

	user->frame_count = bytes > 0 ? bytes / sizeof(__u64) : 0;
	bpf_probe_read_kernel(user->registers, REGISTERS * sizeof(__u64), registers);
	user->stack_bytes = copy_stack(user, stack_pointer(registers));
}

#endif
