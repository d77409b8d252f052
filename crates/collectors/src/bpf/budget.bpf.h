/*
 * A bound on what programs send each second, so that a flood of events cannot become a flood of rows.
 */
#ifndef FATHOM_BUDGET_BPF_H
#define FATHOM_BUDGET_BPF_H

#include "fathom.bpf.h"

/* How many were sent in the current second. */
struct budget {
	__u64 second;
	__u64 sent;
};

/* Races between CPUs may let a few more pass; the ring bounds them. */
static __always_inline bool is_affordable(struct budget *budget, __u64 now_ns, __u64 per_second,
					       __u64 *over_budget)
{
	__u64 second = now_ns >> 30;

	if (budget->second != second) {
		budget->second = second;
		budget->sent = 0;
	}
	if (budget->sent >= per_second) {
		COUNT(*over_budget);
		return false;
	}
	__sync_fetch_and_add(&budget->sent, 1);
	return true;
}

#endif
