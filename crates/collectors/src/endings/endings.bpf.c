/*
 * How the watched processes end: with which code, which signal ended them and who sent it, and whether the kernel chose
 * them because memory ran out. All of it is lost with the process, and only its parent gets it.
 */
#include "../bpf/fathom.bpf.h"

#define EXIT 1
#define OUT_OF_MEMORY 2
#define SIGNAL 3

#define SIGKILL 9
#define SIGTERM 15

/* Signals of the kernel itself have a small number in place of a description. */
#define LAST_OF_KERNEL 1

typedef struct {
	int counter;
} KERNEL_TYPE atomic_t;
struct signal_struct {
	atomic_t live;
} KERNEL_TYPE;
struct task_struct___ending {
	int tgid;
	int exit_code;
	struct signal_struct *signal;
} KERNEL_TYPE;
/* What the tracepoint has in perf's format; `uid` came with the task as its argument, in Linux 6.9. */
struct trace_event_raw_mark_victim {
	unsigned int uid;
} KERNEL_TYPE;

struct told {
	__u32 process;
	__u32 kind;
	/* The code of the kernel, or the number of the signal. */
	__u32 code;
	/* The process that sent it; 0 for the kernel. */
	__u32 sender;
	char sender_name[16];
};

struct {
	__u64 ring_full;
} losses SEC(".data.losses") = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u32);
} watched SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} ring SEC(".maps");

static __always_inline void tell(__u32 process, __u32 kind, __u32 code, bool is_of_kernel)
{
	struct told *told;

	if (!bpf_map_lookup_elem(&watched, &process))
		return;
	told = bpf_ringbuf_reserve(&ring, sizeof(*told), 0);
	if (!told) {
		COUNT(losses.ring_full);
		return;
	}
	told->process = process;
	told->kind = kind;
	told->code = code;
	told->sender = is_of_kernel ? 0 : current_tgid();
	bpf_get_current_comm(told->sender_name, sizeof(told->sender_name));
	bpf_ringbuf_submit(told, 0);
}

SEC("tp_btf/sched_process_exit")
int process_ends(arguments args)
{
	struct task_struct___ending *task = (struct task_struct___ending *)args[0];

	/* The last of its threads. */
	if (task->signal->live.counter == 0)
		tell(task->tgid, EXIT, task->exit_code, true);
	return 0;
}

SEC("tp_btf/signal_generate")
int is_sent_a_signal(arguments args)
{
	__u32 number = args[0];
	struct task_struct *task = (struct task_struct *)args[2];

	if (number == SIGKILL || number == SIGTERM)
		tell(task->tgid, SIGNAL, number, args[1] == LAST_OF_KERNEL);
	return 0;
}

SEC("tp_btf/mark_victim")
int is_chosen(arguments args)
{
	__u32 process;

	if (bpf_core_field_exists(struct trace_event_raw_mark_victim, uid))
		process = ((struct task_struct *)args[0])->tgid;
	else
		process = args[0];
	tell(process, OUT_OF_MEMORY, 0, true);
	return 0;
}
