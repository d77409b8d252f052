/*
 * The kernel's network namespaces, for programs that ask which one a socket or device belongs to.
 */
#ifndef FATHOM_BPF_NETWORK_H
#define FATHOM_BPF_NETWORK_H

#include "fathom.bpf.h"

struct ns_common {
	unsigned int inum;
} KERNEL_TYPE;
struct net {
	struct ns_common ns;
} KERNEL_TYPE;
typedef struct {
	struct net *net;
} KERNEL_TYPE possible_net_t;

#endif
