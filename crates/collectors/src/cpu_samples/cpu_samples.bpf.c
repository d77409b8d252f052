/*
 * Samples which thread runs on each CPU, and in which code. At regular times each CPU sends the stack of the target's thread that
 * runs there: the kernel part as the kernel walks it, the program's part as registers and a copy of its stack.
 */
#include "../bpf/user_state.bpf.h"

#define KERNEL_FRAMES 48

const volatile struct {
	__u32 tgid;
	__u32 reserved;
} config SEC(".rodata.config") = {};

/* What could not be told; read by user space in this order. */
struct {
	__u64 ring_full;
} losses SEC(".data.losses") = {};

struct sample {
	__u64 time_ns;
	__u32 tid;
	__u32 cpu;
	__u64 kernel_frames;
	__u64 kernel[KERNEL_FRAMES];
	struct user_state user;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} samples SEC(".maps");

SEC("perf_event")
int cpu_is_sampled(void *event)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct sample *sample;
	long bytes;

	if (id >> 32 != config.tgid)
		return 0;
	sample = bpf_ringbuf_reserve(&samples, sizeof(*sample), 0);
	if (!sample) {
		COUNT(losses.ring_full);
		return 0;
	}
	sample->time_ns = bpf_ktime_get_ns();
	sample->tid = id;
	sample->cpu = bpf_get_smp_processor_id();
	/* In user mode the kernel has no stack. */
	bytes = bpf_get_stack(event, sample->kernel, sizeof(sample->kernel), 0);
	sample->kernel_frames = bytes > 0 ? bytes / sizeof(__u64) : 0;
	take_user_state(event, &sample->user);
	bpf_ringbuf_submit(sample, 0);
	return 0;
}
