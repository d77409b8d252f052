/*
 * Tables by a key that is not 0. A lookup in a hash map is the most expensive part of a program's work per event. So
 * most keys have a place in an array, which user space has mapped and reads without a system call. If another key has
 * taken the place, the value goes to a hash map. User space frees the places of threads that have ended.
 */
#ifndef FATHOM_PLACED_H
#define FATHOM_PLACED_H

#include "fathom.bpf.h"

/* How many values went to hash maps; while there are none, the hash maps are not searched. */
__u64 spilled SEC(".data.spilled") = 0;

/*
 * Declares NAME_find, which gives the value of a key if it has one, and NAME_make, which makes it one (all zero) if it
 * has none; 0 when there is no room. Both take the key's place. `places` is a power of two.
 */
#define PLACED_TABLE(name, value_type, places)                                                                         \
	struct name##_place {                                                                                          \
		__u64 key;                                                                                             \
		value_type value;                                                                                      \
	};                                                                                                             \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                                      \
		__uint(map_flags, BPF_F_MMAPABLE);                                                                     \
		__uint(max_entries, places);                                                                           \
		__type(key, __u32);                                                                                    \
		__type(value, struct name##_place);                                                                    \
	} name##_places SEC(".maps");                                                                                  \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_HASH);                                                                       \
		__uint(max_entries, 4096);                                                                             \
		__type(key, __u64);                                                                                    \
		__type(value, value_type);                                                                             \
	} name SEC(".maps");                                                                                           \
	static const value_type name##_zero = {};                                                                      \
                                                                                                                       \
	static __always_inline struct name##_place *name##_place_at(__u32 index)                                       \
	{                                                                                                              \
		index &= (places) - 1;                                                                                 \
		return bpf_map_lookup_elem(&name##_places, &index);                                                    \
	}                                                                                                              \
                                                                                                                       \
	static __always_inline value_type *name##_find(__u64 key, __u32 index)                                         \
	{                                                                                                              \
		struct name##_place *place = name##_place_at(index);                                                   \
                                                                                                                       \
		if (place && place->key == key)                                                                        \
			return &place->value;                                                                          \
		return spilled ? bpf_map_lookup_elem(&name, &key) : 0;                                                 \
	}                                                                                                              \
                                                                                                                       \
	static __always_inline value_type *name##_make(__u64 key, __u32 index)                                         \
	{                                                                                                              \
		struct name##_place *place = name##_place_at(index);                                                   \
		value_type *value = name##_find(key, index);                                                           \
                                                                                                                       \
		if (value)                                                                                             \
			return value;                                                                                  \
		if (place && !__sync_val_compare_and_swap(&place->key, 0, key))                                        \
			return &place->value;                                                                          \
		if (!bpf_map_update_elem(&name, &key, &name##_zero, BPF_NOEXIST))                                      \
			COUNT(spilled);                                                                                \
		return bpf_map_lookup_elem(&name, &key);                                                               \
	}

#endif
