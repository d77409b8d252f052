/*
 * Which threads of a process wait, each time that user space asks. Nothing is attached to an event, so running threads
 * pay nothing; the result is written to the reader, and nothing is kept.
 */
#include "../bpf/fathom.bpf.h"

#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2

struct sched_entity___ran {
	__u64 sum_exec_runtime;
} KERNEL_TYPE;
struct sched_info___arrival {
	unsigned long long last_arrival;
} KERNEL_TYPE;
struct task_struct___times {
	unsigned long nvcsw;
	unsigned long nivcsw;
	struct sched_entity___ran se;
	struct sched_info___arrival sched_info;
} KERNEL_TYPE;

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
} KERNEL_TYPE;
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} KERNEL_TYPE;

struct look {
	__u32 tid;
	__u32 reserved;
	/* How often it has left a CPU: a wait has one number. */
	__u64 switches;
	/* What it has run since its start. */
	__u64 ran_ns;
	/* When it last got a CPU, before now; 0 where that is not known. */
	__u64 arrived_ago_ns;
	/* Of the thread in user mode. */
	__u64 registers[34];
};

/* Both times are of the scheduler's clock, which no other clock follows for long; who asks has just got a CPU. */
static __always_inline __u64 arrived_ago_ns(struct task_struct___times *task)
{
	struct task_struct___times *asks = (void *)bpf_get_current_task_btf();
	__u64 now_ns, arrived_ns;

	if (!bpf_core_field_exists(task->sched_info.last_arrival))
		return 0;
	now_ns = asks->sched_info.last_arrival;
	arrived_ns = task->sched_info.last_arrival;
	return arrived_ns && now_ns > arrived_ns ? now_ns - arrived_ns : 0;
}

SEC("iter/task")
int stands(struct bpf_iter__task *at)
{
	struct task_struct *task = at->task;
	struct task_struct___times *times = (void *)task;
	struct look look = {};

	if (!task || !(task->__state & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE)))
		return 0;
	look.tid = task->pid;
	look.switches = times->nvcsw + times->nivcsw;
	look.ran_ns = times->se.sum_exec_runtime;
	look.arrived_ago_ns = arrived_ago_ns(times);
	bpf_probe_read_kernel(look.registers, REGISTERS * sizeof(__u64), (void *)bpf_task_pt_regs(task));
	bpf_seq_write(at->meta->seq, &look, sizeof(look));
	return 0;
}
