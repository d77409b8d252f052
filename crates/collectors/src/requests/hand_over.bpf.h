/*
 * Who worked on a request that an event loop read and answered: the thread that woke the loop from its wait for sockets before it
 * answered. The loop sends what that thread gave it first, so of several answers after one wake-up the first is its.
 */
#ifndef FATHOM_REQUESTS_HAND_OVER_H
#define FATHOM_REQUESTS_HAND_OVER_H

#include "state.bpf.h"

struct woken {
	__u32 tid;
	/* A thread of the same target; 0 when something else woke it. */
	__u32 by_tid;
	__u64 at_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WOKEN);
	__type(key, __u32);
	__type(value, struct woken);
} woken_loops SEC(".maps");

/* When data has arrived last, on each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} arrivals SEC(".maps");

static __always_inline struct woken *woken_at(__u32 tid)
{
	__u32 index = tid & (WOKEN - 1);

	return bpf_map_lookup_elem(&woken_loops, &index);
}

static __always_inline __u64 *last_arrival(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&arrivals, &zero);
}

static __always_inline void note_arrival(__u64 now_ns)
{
	__u64 *last_ns = last_arrival();

	if (last_ns)
		*last_ns = now_ns;
}

/* A thread is woken, by the current thread or by an interrupt that came upon it. Whose it is stands in one word, what it waits for on its stack. */
static __always_inline void note_woken(struct task_struct *task)
{
	__u64 now_ns, *arrival_ns;
	struct woken *woken;
	__u32 by_tid;
	__s32 call;

	if (!target_of_process(task->tgid))
		return;
	call = system_call((struct pt_regs *)bpf_task_pt_regs(task));
	if (call < 0 || config.kind_of_call[below(call, CALLS)] != WAITS)
		return;
	woken = woken_at(task->pid);
	arrival_ns = last_arrival();
	if (!woken || !arrival_ns)
		return;
	now_ns = bpf_ktime_get_ns();
	by_tid = bpf_get_current_pid_tgid();
	if (current_tgid() != task->tgid || by_tid == task->pid || now_ns - *arrival_ns < BY_ARRIVAL_NS)
		by_tid = 0;
	woken->tid = task->pid;
	woken->by_tid = by_tid;
	woken->at_ns = now_ns;
}

/* Whether a thread was woken by the one that worked on a request that was read at that time. */
static __always_inline bool is_worker(struct woken *woken, __u32 tid, __u64 read_ns)
{
	return woken->tid == tid && woken->by_tid && woken->at_ns >= read_ns;
}

/* The thread that read a request answers it. */
static __always_inline void see_worker(struct connection *c, __u32 tid)
{
	struct woken *woken = woken_at(tid);

	if (!woken || !is_worker(woken, tid, c->read_ns))
		return;
	c->worker_tid = woken->by_tid;
	c->returned_ns = woken->at_ns;
	woken->by_tid = 0;
}

#endif
