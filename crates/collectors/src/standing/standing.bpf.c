/*
 * Which threads of a process wait, each time that user space asks. Nothing is attached to an event, so that threads that run
 * cost nothing; what is seen is written to who reads, and nothing is kept.
 */
#include "../bpf/fathom.bpf.h"

#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2

struct task_struct___switches {
	unsigned long nvcsw;
	unsigned long nivcsw;
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
	/* Of the thread in user mode. */
	__u64 registers[34];
};

SEC("iter/task")
int stands(struct bpf_iter__task *at)
{
	struct task_struct *task = at->task;
	struct task_struct___switches *switches = (void *)task;
	struct look look = {};

	if (!task || !(task->__state & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE)))
		return 0;
	look.tid = task->pid;
	look.switches = switches->nvcsw + switches->nivcsw;
	bpf_probe_read_kernel(look.registers, REGISTERS * sizeof(__u64), (void *)bpf_task_pt_regs(task));
	bpf_seq_write(at->meta->seq, &look, sizeof(look));
	return 0;
}
